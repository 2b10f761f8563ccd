"""One look at a page: who looks, at what moment, and what can be read."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, Self

from earnest.app import places
from earnest.app.readers import reading_memory
from earnest.app.settings import Settings
from earnest.effects.ground.storage.reader import BooksReader
from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.foundation.errors import Refused
from earnest.identity.key import Caller, Scope
from earnest.market.terms import Terms
from earnest.memory.megram import Level, Megram
from earnest.memory.potential import Potentials
from earnest.views.metrics import PeriodCounts


class Visitor(StrEnum):
    """What sort of visitor looks. LOCAL: whoever opened their own data directory, without a platform."""

    STRANGER = "stranger"
    AGENT = "agent"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    LOCAL = "local"


class Remembered(Protocol):
    """What a page asks of memory (`earnest.memory.service.MemoryReader`)."""

    def counts(self) -> Mapping[Level, int]:
        """How many Megrams each level has."""

    def entries(self, space: str | None = None, entity: str | None = None, *, limit: int = 100) -> Sequence[Megram]:
        """Megrams, of one pair of tags if it is given."""

    def query_mk(self, space: str, entity: str, now_ms: int) -> Potentials:
        """How much is known of a pair, and how it went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFolders:
    """Where a data directory keeps what is not in its books. None of it need be there.

    `memory` opens the memory to be read, and raises `Refused("memory_missing")` before there is one.
    """

    runs: Path
    memory: Callable[[], AbstractContextManager[Remembered]]
    audit_log: Path

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of the data directory that the settings name."""
        from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415 - loads all that runs need

        home = settings.home
        return cls(runs=home / RUNS_FOLDER, memory=lambda: reading_memory(settings), audit_log=places.audit_log(home))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a page is made from. `has_login`: a cookie says who looks, so the forms of a page may act for them."""

    reader: BooksReader
    now_ms: int
    terms: Terms
    caller: Caller | None
    place: DataFolders | None
    artifacts: ArtifactStore | None = None
    is_local: bool = False
    has_login: bool = False
    path: str = "/"
    params: Mapping[str, str] = field(default_factory=dict)
    counts: PeriodCounts = field(default_factory=PeriodCounts)
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def visitor(self) -> Visitor:
        """Who looks."""
        if self.is_local:
            return Visitor.LOCAL
        if self.caller is None:
            return Visitor.STRANGER
        return {Scope.OPERATOR: Visitor.OPERATOR, Scope.AUDITOR: Visitor.AUDITOR}.get(self.caller.scope, Visitor.AGENT)

    @property
    def sees_all(self) -> bool:
        """True for those from whom nothing is hidden but the answers of agents' own checks."""
        return self.visitor in {Visitor.OPERATOR, Visitor.AUDITOR, Visitor.LOCAL}

    @property
    def acts(self) -> bool:
        """True for those who may do something here."""
        return self.has_login and self.visitor in {Visitor.AGENT, Visitor.OPERATOR}

    @property
    def is_operator(self) -> bool:
        """True for the operator."""
        return self.visitor is Visitor.OPERATOR

    @property
    def my_id(self) -> str:
        """The account of who looks; empty for whoever has none."""
        return "" if self.caller is None else self.caller.id

    def need_all(self) -> None:
        """Keep a page from those who do not see all. Raises `Refused`: `missing_key`, `scope_forbidden`."""
        if self.visitor is Visitor.STRANGER:
            raise Refused("missing_key", "sign in to see this")
        if not self.sees_all:
            raise Refused("scope_forbidden", "this page is for the operator and auditors")

    def need_login(self) -> None:
        """Keep a page from strangers. Raises `Refused("missing_key")`."""
        if self.visitor is Visitor.STRANGER:
            raise Refused("missing_key", "sign in to see this")
