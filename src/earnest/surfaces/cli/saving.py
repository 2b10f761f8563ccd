"""An accepted run written down as a playbook file."""

import asyncio
import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from earnest.app.judging import met_by_nothing
from earnest.app.judging_settings import read_judging_settings
from earnest.app.orders import Words
from earnest.app.readers import order_of
from earnest.contracts.criterion import Criterion
from earnest.contracts.playbook import Playbook, playbook_to_json
from earnest.effects.ground.beneath import opened_beneath
from earnest.effects.ground.clock import SystemClock
from earnest.effects.hands.tools.toolbox import Toolbox
from earnest.engine.messages import ToolCalled
from earnest.engine.saving import playbook_of
from earnest.foundation.errors import Refused
from earnest.foundation.text import printable
from earnest.runtime.order import Grants, PlaybookOrder
from earnest.surfaces.cli.printing import short
from earnest.surfaces.cli.task import EndedRun

TEXT_BYTES_MAX: Final = 256 * 1024
ALL_TEXT_BYTES_MAX: Final = 8 * 1024 * 1024
COMMENT_CHARACTERS_MAX: Final = 300
DEFAULTS: Final[Mapping[str, object]] = {"timeout_s": 60, "mode": "verifiable", "may_fail": False, "network": False}


def save_run(worked: EndedRun, words: Words, target: Path) -> list[str]:
    """Write the playbook, which is then read back as any other is. What was left out of it, in words.

    Raises `Refused("not_saved")`, and `Faulty` for what cannot be a playbook; then there is no file.
    """
    saved = playbook_of(
        worked.heard,
        digest=Toolbox(SystemClock()).digest,
        inputs={name: str(path) for name, path in words.inputs.items()},
        edits={name: str(path) for name, path in words.edits.items()},
        texts=dict(_texts(worked)),
        given=_given(words.inputs.values()),
    )
    with _draft(saved.playbook, target) as (_, order):
        met = asyncio.run(met_by_nothing(order, read_judging_settings()))
    saved = saved.without_idle(met)
    _refuse_empty(saved.playbook, met)
    left_out = [f"left out, since only a model can judge it: {text}" for text in saved.left_out]
    left_out += [f"asked for only as far as it holds for other inputs: {text}" for text in saved.weaker]
    comments = [f"# {printable(short(line, COMMENT_CHARACTERS_MAX))}" for line in left_out]
    head = [f"# Saved from {worked.run_id}, which it repeats with no model.", *comments]
    with _draft(saved.playbook, target, head) as (draft, _):
        os.link(draft, target)
    return left_out


@contextlib.contextmanager
def _draft(playbook: Playbook, target: Path, head: Iterable[str] = ()) -> Iterator[tuple[Path, PlaybookOrder]]:
    """The playbook in a file beside `target`, for now, and what is read of it."""
    draft = target.with_name(f".{target.stem}.{os.getpid()}.yaml")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write("\n".join([*head, _yaml(playbook)]))
        order = order_of(draft, Grants())
        assert isinstance(order, PlaybookOrder)
        assert order.playbook == playbook
        yield draft, order
    finally:
        draft.unlink(missing_ok=True)


def _refuse_empty(playbook: Playbook, met: Collection[Criterion]) -> None:
    """A playbook whose steps may do nothing and that is accepted all the same promises nothing."""
    criteria = [*playbook.criteria, *(one for subtask in playbook.subtasks for one in subtask.criteria)]
    if all(criterion in met for criterion in criteria if criterion.required):
        texts = "; ".join(dict.fromkeys(short(criterion.text, COMMENT_CHARACTERS_MAX) for criterion in met))
        raise Refused("not_saved", f"the run is not saved: its criteria are met where nothing was done: {texts}")


def _texts(worked: EndedRun) -> Iterator[tuple[str, str]]:
    """The files that the run changed and that are text, as they now are. No link leads out of the workspace."""
    changed = {change.path for said in worked.heard if isinstance(said, ToolCalled) for change in said.record.changed}
    left_bytes = ALL_TEXT_BYTES_MAX
    for path in sorted(changed):
        try:
            with opened_beneath(worked.workspace, path, os.O_RDONLY) as descriptor:
                data = os.read(descriptor, min(TEXT_BYTES_MAX, left_bytes) + 1)
            text = data.decode()
        except (OSError, UnicodeDecodeError):
            continue
        if len(data) <= min(TEXT_BYTES_MAX, left_bytes):
            left_bytes -= len(data)
            yield path, text


def _given(inputs: Iterable[Path]) -> Iterator[str]:
    """The texts of the inputs, as they now are: so many bytes of all."""
    left_bytes = ALL_TEXT_BYTES_MAX
    for path in (one for place in inputs for one in ([place] if place.is_file() else sorted(place.rglob("*")))):
        if left_bytes > 0 and path.is_file():
            with contextlib.suppress(OSError), path.open("rb") as file:
                data = file.read(min(TEXT_BYTES_MAX, left_bytes))
                left_bytes -= len(data)
                yield data.decode(errors="replace")


class _Plain(yaml.SafeDumper):
    """Writes no anchors, and text of several lines as such."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _written(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and all(line.isprintable() for line in text.split("\n")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _written)


def _yaml(playbook: Playbook) -> str:
    return yaml.dump(_lean(playbook_to_json(playbook)), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


def _lean(value: Any) -> Any:
    """Without what is the default. The arguments of tools and the settings of checks are left as they are."""
    if isinstance(value, list):
        return [_lean(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item if key in {"args", "check", "inputs"} else _lean(item)
        for key, item in value.items()
        if item not in (None, [], {}) and DEFAULTS.get(key, None) != item
    }
