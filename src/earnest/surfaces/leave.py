"""The question about an action that needs leave, in words: what would be done, and what of the user's is at stake."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.effects.hands.at_stake import FILES_MAX, AtStake, at_stake
from earnest.effects.hands.edits.preimage import BYTES_MAX
from earnest.effects.hands.edits.text_diff import unified
from earnest.foundation.text import printable

if TYPE_CHECKING:
    from earnest.engine.messages import ConfirmationAsked

SHOWN_LINES_MAX: Final = 200


def question_lines(asked: "ConfirmationAsked") -> list[str]:
    """What would be done, and what stands now where it would write. Reads the disk."""
    lines = ["", "LAW 1  this needs your leave, for this once:", f"  {asked.wording}"]
    lines += [f"  write  {printable(path)}  ({_stake_text(at_stake(Path(path)))})" for path in asked.paths]
    lines += ["  network"] * asked.network
    return [*lines, f"  by     {_local(asked.expires_at_ms)}, else it is a no"]


def shown_lines(asked: "ConfirmationAsked") -> list[str]:
    """All arguments, and for a text that would be replaced the difference. Reads the disk."""
    lines = list(_shown(asked))
    cut = [f"  … {len(lines) - SHOWN_LINES_MAX} lines more"] if len(lines) > SHOWN_LINES_MAX else []
    return ["", *lines[:SHOWN_LINES_MAX], *cut, ""]


def _shown(asked: "ConfirmationAsked") -> Iterator[str]:
    for name, value in asked.args.items():
        first, *rest = str(value).split("\n")
        yield f"  {name}: {printable(first)}"
        yield from (f"    {printable(line)}" for line in rest)
    content = asked.args.get("content")
    if len(asked.paths) != 1 or not isinstance(content, str):
        return
    stake = at_stake(Path(asked.paths[0]))
    if stake is not None and stake.text is not None:
        yield from (printable(line) for line in unified(asked.paths[0], stake.text.encode(), content.encode()))


def _stake_text(stake: AtStake | None) -> str:
    if stake is None:
        return "nothing is there"
    if stake.files is None:
        what = f"a file of {stake.size_bytes:,} bytes"
    else:
        more = " or more" if stake.files == FILES_MAX else ""
        what = f"a folder of {stake.files:,} files{more}, {stake.size_bytes:,} bytes"
    known = "git knows it" if stake.in_git else "not in git"
    lost = stake.size_bytes > BYTES_MAX or (stake.files or 0) >= FILES_MAX
    undone = "too much for `earnest undo`" if lost else "`earnest undo` can bring it back"
    return f"{what}, changed {_local(stake.changed_ms)}, {known}, {undone}"


def _local(at_ms: int) -> str:
    """In the user's own zone."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
