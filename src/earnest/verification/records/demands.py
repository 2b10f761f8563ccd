"""What a criterion asks for, as far as words can tell a machine. A misreading may only ask for more.

The words are English, as those of plans mostly are. Of a criterion in another language less is known, and it is held to
the rules that need no words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from earnest.contracts.criterion import Criterion, Mode
from earnest.effects.hands.tools.arguments import normal_path

_WORD: Final = re.compile(r"[^\s\"'`,;()<>\[\]{}]+")
_FILE: Final = re.compile(r"(?:[\w.~/-]*/)?[\w-][\w.-]*\.(?:[A-Za-z][A-Za-z0-9]{1,7}|[a-z])")
_SHORT: Final = re.compile(r"\w\.\w")
"""As in `e.g.`."""
_HOSTS: Final = frozenset({"com", "org", "net", "io", "dev", "gov", "edu", "eu"})
_PROGRAM: Final = re.compile(
    r".*\.(?:(?:ba|z)?sh|c|cc|cpp|cs|exs?|go|hs|java|jl|m?[jt]sx?|kt|lua|php|p[ly]|ps1|r|rb|rs|scala|sql|swift|zig)",
    re.IGNORECASE | re.DOTALL,
)
_PRODUCTS: Final = frozenset({"node.js", "vue.js", "next.js", "asp.net"})
_ACTS: Final = re.compile(
    r"\b(?:(?:creat|sav|generat|produc|stor|updat|replac|renam|mov|delet|remov|merg|chang)(?:e|es|ed|ing)"
    r"|writ(?:e|es|ten|ing)|wrote|(?:append|add|insert|convert|install|edit|extract|download|fix)(?:s|es|ed|ing)?"
    r"|cop(?:y|ies|ied|ying)|modif(?:y|ies|ied))\b",
    re.IGNORECASE,
)
_ANSWERS: Final = re.compile(r"\b(?:answer|reply|stdout|terminal)\b", re.IGNORECASE)
_BEHAVES: Final = re.compile(r"\b(?:prints?|printed|outputs|returns|exits|runs)\b", re.IGNORECASE)
_TELLS: Final = re.compile(
    r"\b(?:given|named?|names|stated|states|told|tells|says|quoted?|lists|listed)\b", re.IGNORECASE
)
_MEASURES: Final = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|success\w*|measured?|counted|benchmark\w*|compiles?|builds"
    r"|verified|checked|works|(?:output|results?) of)\b",
    re.IGNORECASE,
)
_EMPTY: Final = re.compile(r"\b(?:empty|0 bytes|no content)\b", re.IGNORECASE)
_MODE: Final = re.compile(r"\b(?:executable|permissions?|(?:file )?modes?|chmod)\b", re.IGNORECASE)
DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SPAN: Final = re.compile(r"\b(?:since|after|before|until|from|between|older|newer|later|earlier)\b", re.IGNORECASE)
_TODAY: Final = re.compile(r"\btoday\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """`paths` are the files and folders that it names, folders with a `/` at the end.

    `acts`: something must have been done to files, not only be so. `answers`: what is asked for is an answer, or what
    something does, so that the files it names may only have been read. `tells`: it may have stood somewhere already and
    be passed on. `measures`: a measurement is asked for, which nobody can write by hand. `dates` must be shown; `today`
    means the day of the calls. `mode`: whether a file is executable may be all that is asked for.
    """

    text: str
    plausible: bool
    paths: tuple[str, ...]
    acts: bool
    answers: bool
    tells: bool
    measures: bool
    empty: bool
    mode: bool
    dates: tuple[str, ...]
    today: bool


def demand_of(criterion: Criterion) -> Demand:
    """What the criterion's text asks for. Names of files do not count as words of its sentence."""
    text = criterion.text
    sentence = _WORD.sub(lambda word: " " if _path(word[0]) else word[0], text)
    return Demand(
        text=text,
        plausible=criterion.mode is Mode.PLAUSIBLE,
        paths=tuple(dict.fromkeys(paths_in(text))),
        acts=_ACTS.search(sentence) is not None,
        answers=_ANSWERS.search(sentence) is not None or _BEHAVES.search(sentence) is not None,
        tells=_ANSWERS.search(sentence) is not None or _TELLS.search(sentence) is not None,
        measures=_MEASURES.search(sentence) is not None,
        empty=_EMPTY.search(sentence) is not None,
        mode=_MODE.search(sentence) is not None,
        dates=() if _SPAN.search(sentence) else tuple(DATE.findall(sentence)),
        today=_TODAY.search(sentence) is not None,
    )


def paths_in(text: str) -> Iterator[str]:
    """What looks like a path in a text: a name with an extension, or a word that ends with `/`."""
    return (path for word in _WORD.findall(text) if (path := _path(word)))


def is_named(path: str, name: str) -> bool:
    """True if a criterion that names `name` may mean `path`: the same path, its end, or what lies below a folder."""
    if name.endswith("/"):
        return f"{path}/".startswith(name) or f"/{name}" in f"/{path}/"
    return path == name or path.endswith(f"/{name}")


def is_program(name: str) -> bool:
    """True if what a file of this name does can be seen by running it."""
    return _PROGRAM.fullmatch(name) is not None


def _path(word: str) -> str:
    """The path that a word is, or nothing."""
    word = word.rstrip(".:!?")
    if "://" in word:
        return ""
    if word.endswith("/") and word.strip("./"):
        return normal_path(word) + "/"
    stem, _, extension = word.rpartition(".")
    host = extension.lower() in _HOSTS and "/" not in stem
    if not _FILE.fullmatch(word) or _SHORT.fullmatch(word) or host or word.lower() in _PRODUCTS:
        return ""
    return normal_path(word)
