"""The files of a conversation: what its requests may read and change, what they made, and whether it is applied."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from earnest.surfaces.cli.printing import say

if TYPE_CHECKING:
    from earnest.app.platform import Platform
    from earnest.app.settings import Settings
    from earnest.runtime.edits.change import RunChange

FILES_SHOWN: Final = 200
NONE: Final = "none"
"""Said instead of a path: nothing is named any more."""


class ConversationFiles:
    """What `/input` and `/edit` name stands for every request after it. `newest` is the run that was worked last."""

    def __init__(self, read_settings: "Callable[[], Settings]") -> None:
        self._read_settings = read_settings
        self.inputs: dict[str, Path] = {}
        self.edits: dict[str, Path] = {}
        self.newest = ""

    def name(self, option: str, path: str) -> None:
        """Name a place to be read or changed, or none any more; without a path, say which are. Raises `Faulty`."""
        from earnest.app.orders import named  # noqa: PLC0415

        places, others = (self.inputs, self.edits) if option == "/input" else (self.edits, self.inputs)
        if path == NONE:
            places.clear()
        elif path:
            places |= named([*places.values(), Path(path).expanduser()], option, taken=others)
        say(*(f"{option}  {place}" for place in places.values()) if places else [f"{option}  {NONE}"])

    def show_made(self, workspace: Path) -> None:
        """The files that the newest run left, and their sizes in bytes."""
        shown = list(islice(_files(workspace), FILES_SHOWN + 1))
        say(
            *(
                f"{path.stat(follow_symlinks=False).st_size:>12}  {path.relative_to(workspace)}"
                for path in shown[:FILES_SHOWN]
            )
        )
        if not shown:
            say("no files")
        elif len(shown) > FILES_SHOWN:
            say(f"and more than these {FILES_SHOWN}: {workspace}")

    def show_change(self, run: str) -> None:
        """What a run, by default the newest, changed in what it was given to edit."""
        from earnest.surfaces.cli.edits import diff_lines, stat_lines  # noqa: PLC0415

        change = self._change(run)
        say(*(stat_lines(change) if change.is_empty else diff_lines(change)))

    async def apply(self, platform: "Platform", run: str) -> None:
        """Put it in the place of the originals."""
        from earnest.surfaces.cli.edits import apply_told  # noqa: PLC0415

        await apply_told(platform.edits, self._change(run).run_id)

    async def undo(self, platform: "Platform", run: str) -> None:
        """Bring back what was there."""
        from earnest.app.readers import run_of  # noqa: PLC0415
        from earnest.surfaces.cli.edits import undo_told  # noqa: PLC0415

        await undo_told(platform.edits, run_of(self._read_settings(), run or self.newest or None))

    def tell_change(self) -> None:
        """What the newest run changed, if it was given something to edit, and how it is applied."""
        from earnest.app.readers import change_if_any  # noqa: PLC0415
        from earnest.surfaces.cli.edits import stat_lines  # noqa: PLC0415

        change = change_if_any(self._read_settings(), self.newest)
        if change is None:
            return
        say("", *stat_lines(change))
        if change.is_accepted and not change.is_empty:
            say("your files are as they were: /diff shows this, /apply puts it in their place")

    def _change(self, run: str) -> "RunChange":
        from earnest.app.readers import change_of  # noqa: PLC0415

        return change_of(self._read_settings(), run or self.newest or None)


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names; links are not followed."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        else:
            yield path
