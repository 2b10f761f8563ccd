"""A run's judge: it takes the workspace in, lets verification decide, and remembers what was decided."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter

from earnest.contracts.criterion import Criterion
from earnest.effects.sandbox.api import Mount
from earnest.effects.tools.record import ToolRecord
from earnest.effects.workspace.staging import Workspace
from earnest.foundation.canonical import JsonObject
from earnest.runtime.run_book import RunBook
from earnest.verification.plugin import Promise
from earnest.verification.service import Verifier
from earnest.verification.verdict import CriterionVerdict

_VERDICTS = TypeAdapter(tuple[CriterionVerdict, ...])


class WorkspaceJudge:
    """`engine.ports.Judge` over the verifier, for the workspace of one run."""

    def __init__(
        self, *, book: RunBook, verifier: Verifier, workspace: Workspace, base_folder: Path, inputs: tuple[Mount, ...]
    ) -> None:
        self._book = book
        self._verifier = verifier
        self._workspace = workspace
        self._base_folder = base_folder
        self._inputs = inputs

    async def judge(
        self,
        key: str,
        criteria: Sequence[Criterion],
        calls: Sequence[ToolRecord],
        output: str,  # noqa: ARG002 - an executor's words; only judges that are models will be shown them
    ) -> tuple[CriterionVerdict, ...]:
        """See `engine.ports.Judge`. Judging only reads, so it has no intent: what was not recorded is judged again."""
        if not criteria:
            return ()
        decided = self._book.outcome(key)
        if decided is not None:
            return _VERDICTS.validate_python(decided["verdicts"])
        verdict = await self._verifier.verify(
            criteria,
            self._workspace.folder,
            base_folder=self._base_folder,
            mounts=self._inputs,
            trusted_workspace=True,
            calls=calls,
            promise=Promise(origin=self._book.run_id),
        )
        body = {
            "verdicts": _VERDICTS.dump_python(verdict.criteria, mode="json"),
            "snapshot": verdict.snapshot,
            "sandbox": verdict.sandbox,
            "check_versions": dict(verdict.check_versions),
        }
        await self._book.conclude(key, cast("JsonObject", body))
        return verdict.criteria
