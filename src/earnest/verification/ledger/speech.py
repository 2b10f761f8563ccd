"""Does a command compute what it puts out, or only say it; and does its exit status tell how it went?

Read from the text of the command line alone, so a disguise that nobody thought of gets by: these are grounds to doubt a
call, never to trust one.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from earnest.effects.tools.programs import SHELLS
from earnest.effects.tools.record import ToolRecord
from earnest.effects.tools.shell_words import Line, Token, Unbalanced, Word, scan
from earnest.foundation.canonical import JsonValue

DEPTH_MAX: Final = 4
_SAYS: Final = frozenset({"echo", "printf", "yes"})
_TURNS_WORDS: Final = _SAYS | frozenset({"base64", "rev", "tr", "xxd", "sleep", "tee"})
_SHOWS: Final = frozenset({"cat", "head", "tail", "nl", "tac", "more", "less"})
_LISTS: Final = frozenset({"ls", "stat", "find", "du", "tree", "touch", "realpath", "basename"})
_CANNOT_FAIL: Final = frozenset({"true", ":", "echo", "printf", "exit"})
_UNIMPORTANT: Final = _CANNOT_FAIL | frozenset(
    {"cat", "cd", "cp", "date", "export", "ls", "mkdir", "mv", "pwd", "rm", "set", "sleep", "tee", "touch", "which"}
)
"""What may fail before the end of a command line without anybody being deceived about its result."""
_KEYWORDS: Final = frozenset({"for", "do", "done", "then", "else", "fi", "case", "esac", "{", "}", "in", "function"})
_ASKS: Final = frozenset({"if", "elif", "while", "until"})
_TESTS: Final = frozenset({"[", "[[", "test", "grep", "command", "read"})
_ENDS: Final = frozenset({";", "\n", "&"})


def only_says(record: ToolRecord) -> bool:
    """True for a command that prints what it was told to print, however it turns the words round."""
    programs = _programs(record)
    return bool(programs & _SAYS) and programs <= _TURNS_WORDS


def only_lists(record: ToolRecord) -> bool:
    """True for a call that shows that something is there, and nothing of what it is."""
    if record.tool == "search_files":
        return not record.args.get("text")
    programs = _programs(record)
    return record.tool in {"write_file", "glob"} or (bool(programs) and programs <= _LISTS | _SAYS)


def only_shows(record: ToolRecord) -> bool:
    """True for a call that puts out a file as it is."""
    programs = _programs(record)
    return record.tool == "read_file" or (bool(programs) and programs <= _SHOWS | _SAYS)


def hides_its_end(record: ToolRecord) -> bool:
    """True for a command line that ends well whether or not what it ran did."""
    return record.tool == "shell" and _hides(record.args.get("command"), DEPTH_MAX)


def _programs(record: ToolRecord) -> frozenset[str]:
    return frozenset(name.partition(":")[2] for name in record.tool_ids if name.startswith("shell:"))


class _Simple(NamedTuple):
    """A simple command and the operator before it; `words` may be empty."""

    after: str
    words: list[str]


def _hides(command: JsonValue, depth: int) -> bool:
    if not isinstance(command, str) or depth == 0:
        return True
    try:
        line = scan(command)
    except Unbalanced:
        return True
    simple = [one for one in _simple_commands(line.tokens) if one.words]
    return (
        _ends_in_the_background(line)
        or _says_what_ran(line, simple)
        or any(one.after == "||" and one.words[0] in _CANNOT_FAIL for one in simple)
        or any(one.words[0] == "!" or _is_asked(one.words) for one in simple)
        or _goes_on_regardless(simple)
        or any(_hides(script, depth - 1) for one in simple for script in _scripts(one.words))
    )


def _goes_on_regardless(simple: list[_Simple]) -> bool:
    """`make; ls` and `make & ls` end as `ls` does. Loops and the like are not looked into."""
    if simple and simple[0].words[0] == "set" and any(word.startswith("-") and "e" in word for word in simple[0].words):
        return False
    last = max((at for at, one in enumerate(simple) if one.after in _ENDS), default=0)
    return any(
        one.words[0] not in _UNIMPORTANT | _KEYWORDS | _ASKS and "=" not in one.words[0] for one in simple[:last]
    )


def _simple_commands(tokens: list[Token]) -> Iterator[_Simple]:
    after, words = "", list[str]()
    for piece in tokens:
        if isinstance(piece, Word):
            words.append(piece.text)
        else:
            yield _Simple(after, words)
            after, words = piece, []
    yield _Simple(after, words)


def _ends_in_the_background(line: Line) -> bool:
    pieces = [piece for piece in line.tokens if piece != "\n"]
    return pieces[-1:] == ["&"]


def _says_what_ran(line: Line, simple: list[_Simple]) -> bool:
    """`echo "$(make)"` ends as echo does."""
    return bool(line.substitutions and simple) and all(one.words[0] in _CANNOT_FAIL for one in simple)


def _is_asked(words: list[str]) -> bool:
    return len(words) > 1 and words[0] in _ASKS and words[1] not in _TESTS


def _scripts(words: list[str]) -> Iterator[str]:
    if words[0].rpartition("/")[2] in SHELLS and "-c" in words[:-1]:
        yield words[words.index("-c") + 1]
