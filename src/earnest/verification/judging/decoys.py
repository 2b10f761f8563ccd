"""What a judge is asked: the criteria, and between them statements about the same work whose answer code knows.

Every statement has one form: a text, a fact that must hold beside it, a random id, and two words of its own. Beside a
criterion stands a true fact, so that its answer is the criterion's. A decoy repeats a criterion beside a false fact,
says what the work does not speak of, or joins two facts. Whoever answers as the work orders answers decoys so, too;
whoever reads the work does not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from earnest.effects.ground.clock import Chance
from earnest.verification.judging.prompt import ShownFile, is_plain

ECHOES_MAX: Final = 4
"""So many criteria are repeated beside a false fact."""
TRUE_DECOYS: Final = 2
EXCERPT_WORDS: Final = 3
EXCERPT_CHARACTERS: Final = 8
"""Of what has no blanks."""
EXCERPT_CHARACTERS_MAX: Final = 60
TRIES: Final = 40
SUBJECT_LETTERS_MIN: Final = 6
ELSEWHERE: Final = (
    *("how a violin is tuned", "why glaciers move", "the rules of curling", "how honey bees find a new hive"),
    *("how a lock gate lifts a barge", "the life of Emmy Noether", "how porcelain is glazed", "why leaves turn red"),
    *("the grammar of Basque verbs", "how a sextant is read", "how cheese ripens", "the making of stained glass"),
    *("how a kidney filters blood", "the spelling reform of Norwegian", "how paper is recycled", "what a fugue is"),
)
"""What hardly any work is about. One is left out where a long word of it stands in the work."""
_SYLLABLES: Final = tuple(consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou")


_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoyStatement:
    """What is asked. It is met if `text` and `also` are both true; `words` stand for met and not met.

    `criterion` is the id of the criterion that it asks about; empty of a decoy, which is met if and only if `known`.
    """

    id: str
    text: str
    also: str
    words: tuple[str, str]
    criterion: str = ""
    known: bool = False


def statements(
    criteria: Sequence[tuple[str, str]], files: Sequence[ShownFile], chance: Chance
) -> tuple[DecoyStatement, ...]:
    """The criteria, given as (id, text), and decoys, in random order."""
    facts = _Facts(files, chance)
    asked = [(text, facts.true(), identity, False) for identity, text in criteria]
    repeated = _shuffled(chance, criteria)[:ECHOES_MAX]
    asked += [(text, facts.false(), "", False) for _, text in repeated]
    asked += [(facts.false(), facts.true(), "", False), (_elsewhere(files, chance), facts.true(), "", False)]
    asked += [(facts.true(), facts.true(), "", True) for _ in range(TRUE_DECOYS)]
    names = _names(chance, {word for file in files for word in file.text.casefold().split()})
    return tuple(
        DecoyStatement(
            id=next(names), text=text, also=also, words=(next(names), next(names)), criterion=criterion, known=known
        )
        for text, also, criterion, known in _shuffled(chance, asked)
    )


def _elsewhere(files: Sequence[ShownFile], chance: Chance) -> str:
    """A statement of the kind that criteria are, about something that the work does not speak of."""
    text = " ".join(f"{file.path} {file.text}".casefold() for file in files)
    subjects = [
        one
        for one in ELSEWHERE
        if not any(len(word) >= SUBJECT_LETTERS_MIN and word in text for word in one.casefold().split())
    ]
    return f"It explains {_drawn(chance, subjects or ELSEWHERE)}"


def _names(chance: Chance, taken: set[str]) -> Iterator[str]:
    """Words that mean nothing and stand nowhere else."""
    while True:
        name = "".join(_drawn(chance, _SYLLABLES) for _ in range(4))
        if name not in taken:
            taken.add(name)
            yield name


class _Facts:
    """True and false sentences about the files, of one form: what stands in them word for word, and how long they are.

    A false excerpt is made of two true ones, in the work's own words and script.
    """

    def __init__(self, files: Sequence[ShownFile], chance: Chance) -> None:
        self._files = files
        self._chance = chance
        self._plain = {file.path: _folded(file.text) for file in files}
        self._lines = [(file, line) for file in files for line in file.text.splitlines() if len(line.strip()) > 1]

    def true(self) -> str:
        """A fact that holds."""
        for _ in range(TRIES if self._lines else 0):
            file, line = _drawn(self._chance, self._lines)
            parts = self._excerpt(line)
            if parts and _folded("".join(parts)) in self._plain[file.path]:
                return _stands(file, "".join(parts))
        return self._length(0)

    def false(self) -> str:
        """A fact that does not hold."""
        for _ in range(TRIES if self._lines else 0):
            file, line = _drawn(self._chance, self._lines)
            one, other = self._excerpt(line), self._excerpt(_drawn(self._chance, self._lines)[1])
            if one and other and _folded(one[0] + other[1]) not in self._plain[file.path]:
                return _stands(file, one[0] + other[1])
        return self._length(_drawn(self._chance, range(2, 10)))

    def _excerpt(self, line: str) -> tuple[str, str] | None:
        """Some words of a line in two halves; characters if it has no words."""
        words = re.findall(r"\S+\s*", line)
        if len(words) > 1:
            at = _drawn(self._chance, range(max(1, len(words) - EXCERPT_WORDS + 1)))
            parts, middle = words[at : at + EXCERPT_WORDS], 1 + (len(words) > EXCERPT_WORDS)
        else:
            at = _drawn(self._chance, range(max(1, len(line) - EXCERPT_CHARACTERS + 1)))
            parts = list(line[at : at + EXCERPT_CHARACTERS])
            middle = max(1, len(parts) // 2)
        halves = "".join(parts[:middle]).lstrip(), "".join(parts[middle:]).rstrip()
        whole = "".join(halves)
        shown = all(is_plain(character) and character not in '"“”`\t' for character in whole)
        return halves if shown and all(halves) and len(whole) <= EXCERPT_CHARACTERS_MAX else None

    def _length(self, more: int) -> str:
        if not self._files:
            return f"The work consists of {more} files"
        file = _drawn(self._chance, self._files)
        return f"{file.path!a} has exactly {len(file.text.splitlines()) + more} lines"


def _drawn(chance: Chance, things: Sequence[_One]) -> _One:
    return things[int(chance.fraction() * len(things))]


def _shuffled(chance: Chance, things: Sequence[_One]) -> list[_One]:
    return sorted(things, key=lambda _: chance.fraction())


def _stands(file: ShownFile, excerpt: str) -> str:
    return f"{file.path!a} contains, word for word, “{excerpt}”"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
