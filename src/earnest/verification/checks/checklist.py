"""Check kind `checklist`: an Evidence section answers each acceptance criterion, in words of its own.

It proves that what is said is complete and consistent with what was handed in. It does not prove that it is true.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from earnest.contracts.criterion import CRITERIA_MAX, CRITERION_CHARACTERS_MAX
from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.effects.hands.workspace.snapshot import Snapshot
from earnest.foundation.text import listed
from earnest.verification.citations import QUOTE_CHARACTERS_MIN, CitedFiles
from earnest.verification.markdown import sections
from earnest.verification.paths import read_path, read_text
from earnest.verification.plugin import ConfiguredCheck, Findings, Subject, looking
from earnest.verification.visible import squeezed, telling_words, without_unseen, words

WORDS_MIN: Final = 4
WORDS_MAX: Final = 100
PROBLEMS_SHOWN_MAX: Final = 5
SECTION_CHARACTERS_MAX: Final = 400_000
CLAUSE_CHARACTERS_MAX: Final = 200
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_HEAD: Final = re.compile(
    r"\s*(?P<mark>(?:(?:#{1,6}|[-*+]|\d{1,9}[.)])\s+|\|\s*)*)(?:\[(?P<box>[ xX])\]\s+)?"
    r"[*_`(\[]*(?P<id>[A-Za-z0-9_-]{1,64})(?![\w-])(?P<colon>[*_`)\]]*:)?"
)
_TAG_WITH_ATTRIBUTES: Final = re.compile(r"<[A-Za-z][A-Za-z0-9-]*\s+[^>\s/][^>]*>?")
_UNSHOWN: Final = re.compile(r"^ {0,3}\[[^\[\]]+\]:\s.*$|!\[[^\[\]]*\]\([^()]*\)")
"""Definitions of links, and the words for pictures. No pattern here looks at a character more than a few times."""
_LINK: Final = re.compile(r"\[(?P<text>[^\[\]]*)\]\(<?(?P<target>[^()\[<>\s]*+)>?[^()\[\n]*+\)")
_ADDRESS: Final = re.compile(r"https?://\S+", re.I)
_CODE: Final = re.compile(r"(?<!`)`(?P<text>[^`\n]+)`(?!`)")
_TOKEN: Final = re.compile(r"[\w@+./-]+")
_QUOTED: Final = re.compile(r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»')
_CLAUSE: Final = re.compile(r"[.,;:!?()\n\u2013\u2014]|\s-\s|\b(?:and|but|und|aber|et|mais|y|pero)\b", re.I)
_ACTS: Final = "(?:run|done|made|tested|implemented|written|started|finished|completed?|checked|verified|fixed|added)"
_UNDONE: Final = re.compile(
    r"(?:(?:this|these|it|that|which|the|tests?|work|task|part|still|so|i|we|has|have|is|are|was|were|been) )*+"
    rf"(?:not (?:yet )?(?:been )?{_ACTS}|{_ACTS} not yet|nothing (?:has been |was |is |yet )?{_ACTS}"
    rf"|(?:will|shall|to|must|needs to|has to|going to) (?:still )?be {_ACTS}"
    r"|(?:will|shall) (?:do|run|test|write|finish|fix|add) (?:it|this|that)|pending|to ?do|tbd|wip|work in progress"
    r"|in progress|coming soon|unfinished|incomplete|not ready|noch nicht \w+|wird (?:noch|später) \w+"
    r"|steht (?:noch )?aus|pas encore \w+|à faire|todavía no(?: \w+)*|aún no(?: \w+)*|pendiente|por hacer)"
    r"(?: (?:later|soon|next|tomorrow|today|yet|then|for now|so far|at the moment|by us|by me|in time"
    r"|this week|next week))*"
)
"""A clause that says nothing but that. With an object of its own ("run by cron at five") it tells what work does."""
_LINE_NUMBER: Final = re.compile(r":\d+(?:-\d+)?$|#L\d+(?:-L?\d+)?$")
_FILE_LIKE: Final = re.compile(
    r"[\w.@+/ -]+\.(?:c|cfg|cpp|csv|go|h|html|ini|ipynb|java|jpe?g|js|json|log|md|pdf|png|py|rs|sh|sql|svg|toml|ts|tsv"
    r"|txt|xml|ya?ml)",
    re.I,
)


class _Evidence(StrEnum):
    """What an entry must bring beside words."""

    QUOTED = "quoted"
    CITED = "cited"
    WORDS = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    path: str
    section: str
    criteria: Mapping[str, str]
    evidence: _Evidence
    words_min: int


class _Entry(NamedTuple):
    """What is said about one criterion. `is_open`: its box is not ticked."""

    lines: list[str]
    is_open: bool

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class _Citation(NamedTuple):
    path: str
    quote: str | None


def _measure(wanted: _Config, subject: Subject) -> Findings:
    """See docs/checks/checklist.md. Looks at the snapshot only; runs nothing.

    Without `criteria` of its own it asks for all that no checklist decides.
    """
    others = [one for one in subject.criteria if one.check is None or one.check.kind != "checklist"]
    criteria = wanted.criteria or {one.id: one.text for one in others or subject.criteria}
    return _findings(wanted, criteria, subject.snapshot)


def _read(reader: NodeReader, node: Node, _base_folder: Path | None) -> _Config:
    entries = reader.mapping(node, required=("path",), optional=("section", "criteria", "evidence", "words_min"))
    criteria = reader.names(entries.get("criteria"))
    if "criteria" in entries and not 1 <= len(criteria) <= CRITERIA_MAX:
        reader.fault(entries["criteria"], f"must have 1 to {CRITERIA_MAX} entries")
    for identity, child in criteria.items():
        if not _ID.fullmatch(identity):
            reader.fault(child, f"{identity!r} must be letters, digits, - and _")
    return _Config(
        path=read_path(reader, entries.get("path")),
        section=reader.text(entries.get("section"), at_most=200, default="Evidence"),
        criteria={name: reader.text(child, at_most=CRITERION_CHARACTERS_MAX) for name, child in criteria.items()},
        evidence=reader.choice(entries.get("evidence"), _Evidence, default=_Evidence.QUOTED),
        words_min=reader.integer(entries.get("words_min"), low=1, high=WORDS_MAX, default=WORDS_MIN),
    )


def _findings(wanted: _Config, criteria: Mapping[str, str], snapshot: Snapshot) -> Findings:
    evidence = (wanted.path,)
    try:
        found = sections(read_text(snapshot, wanted.path), wanted.section)
    except ValueError as problem:
        return Findings(passed=False, reason=f"{wanted.path} {problem}", evidence=evidence)
    if len(found) != 1:
        reason = f"{wanted.path} has {len(found) or 'no'} sections {wanted.section!r}, and one is wanted"
        return Findings(passed=False, reason=reason, evidence=evidence)
    (lines,) = found
    if sum(map(len, lines)) > SECTION_CHARACTERS_MAX:
        reason = f"the section {wanted.section!r} has more than {SECTION_CHARACTERS_MAX} characters"
        return Findings(passed=False, reason=reason, evidence=evidence)
    entries = _entries(lines, criteria)
    files = CitedFiles(snapshot, wanted.path)
    problems = [*_tags(lines), *_problems(wanted, criteria, entries, files)]
    cited = {citation.path for each in entries.values() for entry in each for citation in _citations(entry.text, files)}
    if problems:
        return Findings(passed=False, reason=listed(problems, PROBLEMS_SHOWN_MAX), evidence=evidence)
    reason = f"the section {wanted.section!r} of {wanted.path} answers {', '.join(criteria)}"
    return Findings(
        passed=True, reason=reason, evidence=(*evidence, *sorted(cited)), measured={"entries": len(entries)}
    )


def _tags(lines: Sequence[str]) -> Iterator[str]:
    """With attributes, HTML can show anything and nothing; what it shows is not guessed at."""
    for line in lines:
        for tag in _TAG_WITH_ATTRIBUTES.findall(_CODE.sub("", line)):
            yield f"HTML in the section ({tag[:40]!r}): what it shows cannot be told"


def _entries(lines: Sequence[str], criteria: Mapping[str, str]) -> dict[str, list[_Entry]]:
    """What follows each id that begins a list item, a heading, a table's row or a paragraph."""
    entries: dict[str, list[_Entry]] = {}
    current: _Entry | None = None
    before = ""
    for line in lines:
        shown = _UNSHOWN.sub("", without_unseen(line))
        head = _HEAD.match(shown)
        if head and head["id"] in criteria and (head["mark"] or head["colon"] or not before.strip()):
            current = _Entry(lines=[], is_open=head["box"] == " ")
            entries.setdefault(head["id"], []).append(current)
            shown = shown[head.end() :]
        if current is not None:
            current.lines.append(shown)
        before = line
    return entries


def _problems(
    wanted: _Config, criteria: Mapping[str, str], entries: Mapping[str, Sequence[_Entry]], files: CitedFiles
) -> Iterator[str]:
    given = {word for identity, text in criteria.items() for word in (*words(identity), *words(text))}
    said: dict[frozenset[str], str] = {}
    for identity in criteria:
        found = entries.get(identity, ())
        if len(found) != 1:
            yield f"{identity} is {'answered more than once' if found else 'not answered'}"
            continue
        (entry,) = found
        if entry.is_open:
            yield f"{identity} is not ticked"
        if _puts_off(_prose(entry.text)):
            yield f"{identity} says that it is not done"
        own = telling_words(_prose(entry.text)) - given
        if len(own) < wanted.words_min:
            yield f"{identity} has {len(own)} telling words of its own, at least {wanted.words_min} wanted"
        other = said.setdefault(frozenset(own), identity)
        if own and other != identity:
            yield f"{identity} says what {other} says"
        yield from (f"{identity} {fault}" for fault in _citation_faults(wanted.evidence, entry.text, files))


def _puts_off(text: str) -> bool:
    """True if an entry says of itself that what it stands for has not been done."""
    return any(_UNDONE.fullmatch(" ".join(words(clause[:CLAUSE_CHARACTERS_MAX]))) for clause in _CLAUSE.split(text))


def _citation_faults(evidence: _Evidence, text: str, files: CitedFiles) -> Iterator[str]:
    citations = _citations(text, files)
    for citation in citations:
        if fault := files.fault(citation.path, citation.quote):
            yield fault
    if evidence is not _Evidence.WORDS and not citations:
        yield "cites no file"
    elif evidence is _Evidence.QUOTED and all(citation.quote is None for citation in citations):
        yield "quotes nothing from the files it cites"


def _prose(text: str) -> str:
    """What an entry says itself: without what it quotes, cites or shows as code."""
    return _QUOTED.sub(" ", _CODE.sub(" ", _ADDRESS.sub(" ", _LINK.sub(lambda link: link["text"], text))))


def _citations(text: str, files: CitedFiles) -> list[_Citation]:
    """Each file that is named, and the quotations that follow it before the next one."""
    places = sorted(set(_places(text, files)))
    ends = [*(end for end, _ in places), len(text)][1:]
    return [
        _Citation(path, quote)
        for (start, path), end in zip(places, ends, strict=True)
        for quote in _quotes(text[start:end]) or [None]
    ]


def _places(text: str, files: CitedFiles) -> Iterator[tuple[int, str]]:
    """Where a file's name ends: as code, as the target of a link, or plainly the name of a file that is there."""
    for match in _CODE.finditer(text):
        name = _LINE_NUMBER.sub("", match["text"].strip())
        if name in files or _FILE_LIKE.fullmatch(name):
            yield match.end(), name.removeprefix("./")
    for match in _LINK.finditer(text):
        target = _LINE_NUMBER.sub("", match["target"])
        if target and "://" not in target and not target.startswith("#"):
            yield match.end(), target.removeprefix("./")
    for match in _TOKEN.finditer(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)):
        name = match[0].rstrip("./-")
        if name in files:
            yield match.start() + len(name), name


def _quotes(text: str) -> list[str | None]:
    """What stands in double quotes; a word or two of code is no quotation."""
    found = (next(group for group in match.groups() if group is not None) for match in _QUOTED.finditer(text))
    return [squeezed(quote) for quote in found if len("".join(quote.split())) >= QUOTE_CHARACTERS_MIN]


CHECK = ConfiguredCheck(kind="checklist", version=1, read=_read, measure=looking(_measure))
