"""Does the exit status of a command line tell how it went?

Read from its text alone, so a disguise that nobody thought of gets by: this is ground to doubt a call, never to trust
one.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from earnest.effects.tools.programs import SHELLS, shell_programs
from earnest.effects.tools.record import ToolRecord
from earnest.effects.tools.shell_words import Line, Token, Unbalanced, Word, scan
from earnest.foundation.canonical import JsonValue
from earnest.verification.ledger.speech import SHOWS

DEPTH_MAX: Final = 4
_CANNOT_FAIL: Final = frozenset({"true", ":", "echo", "printf", "exit"})
_MOVES: Final = frozenset({"cat", "cd", "cp", "date", "ls", "mkdir", "mv", "pwd", "rm", "sleep", "tee", "touch"})
_UNIMPORTANT: Final = _CANNOT_FAIL | _MOVES | frozenset({"export", "set", "trap", "which"})
"""What may fail before the end of a command line without anybody being deceived about its result."""
_LOOKS: Final = frozenset({"cut", "du", "file", "find", "head", "sort", "stat", "tail", "tr", "uniq", "wc"})
_READS: Final = _LOOKS | frozenset({"awk", "md5sum", "sed", "sha256sum"})
"""What only looks at something, so that it hardly matters whether it failed."""
_TESTS: Final = frozenset({"[", "[[", "test", "grep", "command", "read"})
_HARMLESS: Final = _UNIMPORTANT | _READS | _TESTS
_PASSES_ON: Final = _CANNOT_FAIL | SHOWS | frozenset({"declare", "export", "paste", "printenv", "sort", "tee", "uniq"})
"""What ends as well as ever when it is given what something else put out."""
_OPENS: Final = frozenset({"do", "then", "else", "{", "time"})
"""What stands before a command and says nothing of it."""
_CLOSES: Final = frozenset({"done", "fi", "}", "esac"})
_KEYWORDS: Final = frozenset({"for", "case", "in", "function"})
_ASKS: Final = frozenset({"if", "elif", "while", "until"})
_ENDS: Final = frozenset({";", "\n", "&"})
_ACTIONS: Final = frozenset({"-exec", "-execdir"})
_ASSIGNMENT: Final = re.compile(r"\w+\+?=")
_ENDS_WELL: Final = re.compile(r"\bexit\b(?!\s+[1-9])")


def hides_its_end(record: ToolRecord) -> bool:
    """True for a command line that ends well whether or not what it ran did."""
    return record.tool == "shell" and _hides(record.args.get("command"), DEPTH_MAX)


class _Simple(NamedTuple):
    """A simple command, the operator before it, and the keywords that it stood behind; `words` may be empty."""

    after: str
    words: list[str]
    opened: frozenset[str] = frozenset()

    @property
    def fails(self) -> bool:
        """True if it is there to end the command line badly."""
        return self.words[0] == "false" or (self.words[0] in {"exit", "return"} and self.words[1:] not in ([], ["0"]))


def _hides(command: JsonValue, depth: int) -> bool:
    if not isinstance(command, str) or depth == 0:
        return True
    try:
        line = scan(command)
    except Unbalanced:
        return True
    simple = [_bare(one) for one in _simple_commands(line.tokens)]
    simple = [one for one in simple if one.words]
    return (
        _ends_in_the_background(line)
        or _says_what_ran(line, simple)
        or _is_made_good(simple)
        or any(one.words[0] == "!" or _is_asked(one.words) for one in simple)
        or _goes_on_regardless(simple)
        or _loses_the_end(simple, is_inner=depth < DEPTH_MAX)
        or any(_hides(script, depth - 1) for one in simple for script in _scripts(one.words))
    )


def _bare(one: _Simple) -> _Simple:
    """Without the keywords and assignments before the command itself; nothing is left of what only closes."""
    words, opened = one.words, set[str]()
    while words and (words[0] in _OPENS or (len(words) > 1 and _ASSIGNMENT.match(words[0]))):
        opened.add(words[0])
        words = words[1:]
    return _Simple(one.after, [] if words and words[0] in _CLOSES else words, frozenset(opened))


def _is_made_good(simple: list[_Simple]) -> bool:
    """`make || true`, or `|| ls`; not `|| exit 1`, nor a group that ends so."""
    for at, one in enumerate(simple):
        if one.after == "||" and not one.fails and not ("{" in one.opened and any(on.fails for on in simple[at + 1 :])):
            given = one.words[0] in _UNIMPORTANT and simple[at - 1].words[0] not in _UNIMPORTANT | _TESTS
            if given or one.words[0] in _CANNOT_FAIL:
                return True
    return False


def _loses_the_end(simple: list[_Simple], *, is_inner: bool) -> bool:
    """A pipe without `pipefail`, as it is in a shell within; `find -exec … ;`, which ends well; a trap that does."""
    unsafe = is_inner and not any(one.words[0] == "set" and "pipefail" in one.words for one in simple)
    for one, following in zip(simple, [*simple[1:], None], strict=True):
        match one.words:
            case ["set", "+o", "pipefail"]:
                unsafe = True
            case ["trap", action, *_] if _ENDS_WELL.search(action):
                return True
            case ["find", *rest] if ";" in rest and not _runs(rest) <= _HARMLESS:
                return True
        piped = following is not None and following.after in {"|", "|&"}
        if unsafe and piped and one.words[0] not in _HARMLESS:
            return True
    return False


def _runs(words: list[str]) -> set[str]:
    """The programs that a `find` with these words starts."""
    return {program for action, program in pairwise(words) if action in _ACTIONS}


def _goes_on_regardless(simple: list[_Simple]) -> bool:
    """`make; ls` and `make & ls` end as `ls` does. Loops and the like are not looked into."""
    if _stops_at_once(simple):
        return False
    last = max(
        (at for at, one in enumerate(simple) if one.after in _ENDS and not one.fails and "else" not in one.opened),
        default=0,
    )
    return any(
        one.words[0] not in _UNIMPORTANT | _KEYWORDS | _ASKS and "=" not in one.words[0] for one in simple[:last]
    )


def _stops_at_once(simple: list[_Simple]) -> bool:
    """True under `set -e` to the end, which passes over what fails before `&&`."""
    options = [word for one in simple if one.words[0] == "set" for word in one.words[1:2]]
    begins = bool(simple) and simple[0].words[0] == "set" and len(options) == 1
    return begins and bool(re.match(r"-\w*e", options[0])) and all(one.after != "&&" for one in simple)


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
    """`echo "$(make)"` ends as echo does, `sort <(make)` as sort, `export x=$(make)` well."""
    if not (line.substitutions and simple):
        return False
    ran = frozenset[str]().union(*map(shell_programs, line.substitutions))
    says = _CANNOT_FAIL if ran <= _HARMLESS | SHOWS else _PASSES_ON
    return all(one.words[0] in says for one in simple)


def _is_asked(words: list[str]) -> bool:
    return len(words) > 1 and words[0] in _ASKS and words[1] not in _TESTS


def _scripts(words: list[str]) -> Iterator[str]:
    """Command lines within, also behind `timeout` or `xargs`: those of `bash -lc` and of `eval`."""
    if words[0] == "eval":
        yield " ".join(words[1:])
    for at, word in enumerate(words):
        if word.rpartition("/")[2] in SHELLS:
            yield from (script for option, script in pairwise(words[at + 1 :]) if re.fullmatch(r"-\w*c", option))
