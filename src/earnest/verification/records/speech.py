"""Commands that compute what they put out, and those that only say, list or show it.

Read from the text of the command line alone, so a disguise that nobody thought of gets by: these are grounds to doubt a
call, never to trust one.
"""

from typing import Final

from earnest.effects.hands.tools.record import ToolRecord

SHOWS: Final = frozenset({"cat", "head", "tail", "nl", "tac", "more", "less"})
_SAYS: Final = frozenset({"echo", "printf", "yes"})
_TURNS_WORDS: Final = _SAYS | frozenset({"base64", "rev", "tr", "xxd", "sleep", "tee"})
_LISTS: Final = frozenset({"ls", "stat", "find", "du", "tree", "touch", "realpath", "basename"})


WRITERS: Final = frozenset({"write_file", "edit_file", "apply_patch", "delete", "move"})
"""Tools that put out no more than what they were told to do."""


def only_says(record: ToolRecord) -> bool:
    """True for a command that prints what it was told to print, however it turns the words round."""
    programs = _programs(record)
    told = programs & _SAYS or (programs and "<<" in str(record.args.get("command")))
    return bool(told) and programs <= _TURNS_WORDS


def only_lists(record: ToolRecord) -> bool:
    """True for a call that shows that something is there, and nothing of what it is."""
    if record.tool == "search_files":
        return not record.args.get("text")
    programs = _programs(record)
    return record.tool in {*WRITERS, "glob"} or (bool(programs) and programs <= _LISTS | _SAYS)


def only_shows(record: ToolRecord) -> bool:
    """True for a call that puts out a file as it is."""
    programs = _programs(record)
    return record.tool == "read_file" or (bool(programs) and programs <= SHOWS | _SAYS)


def _programs(record: ToolRecord) -> frozenset[str]:
    return frozenset(name.partition(":")[2] for name in record.tool_ids if name.startswith("shell:"))
