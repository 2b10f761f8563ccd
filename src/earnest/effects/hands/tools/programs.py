"""The programs that a command line runs: for naming what was used, never for deciding what is safe.

The grammar is POSIX.1-2017 chapter 2 as far as naming needs it. What cannot be told from the text alone (a variable as
program, an unbalanced quote) is left out; a command line that names nothing gives the empty set.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import Final

from earnest.effects.hands.tools.shell_words import Token, Unbalanced, Word, scan

CHARACTERS_MAX: Final = 65_536
DEPTH_MAX: Final = 8
"""Of command lines within command lines."""


WRAPPERS: Final[Mapping[str, str]] = {
    "builtin": "",
    "command": "",
    "env": "-u --unset -C --chdir",
    "exec": "-a",
    "ionice": "-c -n --class --classdata",
    "nice": "-n --adjustment",
    "nohup": "",
    "setsid": "",
    "stdbuf": "-i -o -e --input --output --error",
    "sudo": "-u -g -h -p -C -r -t -D -R -T -U --user --group --host --prompt --chdir",
    "time": "-f -o --format --output",
    "timeout": "-s -k --signal --kill-after",
    "xargs": "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --replace",
}
"""What runs another program, with those of its options that take the next word as their value."""
_PLAIN_ARGUMENTS: Final = {"timeout": 1}
"""Words of its own that stand before the other program."""
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
SILENT: Final = frozenset(
    """: . [ [[ alias break cd continue declare exit export false hash local popd pushd read readonly return set shift
    shopt source test trap true typeset ulimit umask unset wait""".split()  # noqa: SIM905
)
"""Built-ins that only steer: no approach is blocked by blocking them."""

_OPENING: Final = frozenset({"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac"}) | set("!{}")
_LOOPS: Final = frozenset({"for", "select", "case", "function"})
_ACTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ACTION_WORDS_MAX: Final = 32
_UNWRAPPED_MAX: Final = 256
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=")
_PROGRAM: Final = re.compile(r"[\w.+@%/\[\]:-]{1,200}")


def shell_programs(command: str) -> frozenset[str]:
    """Names without their folders. Takes time in proportion to the length; over `CHARACTERS_MAX` gives nothing."""
    return frozenset(_programs(command, DEPTH_MAX)) if len(command) <= CHARACTERS_MAX else frozenset()


def _programs(command: str, depth: int) -> set[str]:
    if depth == 0:
        return set()
    try:
        line = scan(command)
    except Unbalanced:
        return set()
    commands, functions = _simple_commands(line.tokens)
    found = {name for words in commands for name in _named(words, depth)}
    for inner in line.substitutions:
        found |= _programs(inner, depth - 1)
    return found - functions - SILENT


def _simple_commands(tokens: Sequence[Token]) -> tuple[list[list[Word]], set[str]]:
    """The words of each simple command, and the names of functions that the line defines."""
    commands: list[list[Word]] = [[]]
    functions: set[str] = set()
    in_pattern = False
    for at, piece in enumerate(tokens):
        words = commands[-1]
        if in_pattern:
            in_pattern = not (piece == ")" or (isinstance(piece, Word) and piece.text == "esac"))
        elif isinstance(piece, Word):
            if words or piece.text not in _OPENING:
                words.append(piece)
            if len(words) == 3 and (words[0].text, words[2].text) == ("case", "in"):
                commands.append([])
                in_pattern = True
        elif words and words[0].text == "[[" and words[-1].text != "]]":
            continue
        elif piece == "(" and len(words) == 1 and tokens[at + 1 : at + 2] == [")"]:
            functions.add(words.pop().text)
        else:
            commands.append([])
            in_pattern = piece in {";;", ";&", ";;&"}
    return commands, functions


def _named(words: list[Word], depth: int) -> Iterator[str]:
    """The programs that one simple command names: its own, or those that its wrappers run."""
    waiting = [words]
    for _ in range(_UNWRAPPED_MAX):
        if not waiting:
            return
        command = list(dropwhile(lambda word: _ASSIGNMENT.match(word.text), waiting.pop()))
        if not command or command[0].text in _LOOPS or not (command[0].known and _PROGRAM.fullmatch(command[0].text)):
            continue
        name, rest = posixpath.basename(command[0].text), command[1:]
        if name in WRAPPERS and (inner := _wrapped(name, rest)):
            waiting.append(inner)
        elif name in SHELLS and (script := _script(rest)):
            yield from _programs(script, depth - 1)
        elif name == "eval":
            yield from _programs(" ".join(word.text for word in rest), depth - 1)
        elif name:
            yield name
        if name == "find":
            waiting += [
                rest[at + 1 : at + 1 + _ACTION_WORDS_MAX] for at, word in enumerate(rest) if word.text in _ACTIONS
            ]


def _wrapped(name: str, words: list[Word]) -> list[Word]:
    """What stands behind a wrapper's own options and arguments."""
    valued, at = WRAPPERS[name].split(), 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return words[at + _PLAIN_ARGUMENTS.get(name, 0) :]


def _script(words: list[Word]) -> str:
    """The command line that a shell is given with `-c` (or `-lc`, …); empty if there is none to be told."""
    for at, word in enumerate(words[:-1]):
        if word.text.startswith("-") and not word.text.startswith("--") and word.text.endswith("c"):
            return words[at + 1].text if words[at + 1].known else ""
    return ""
