"""What one remembered event is, how strongly each outcome is remembered, and under which tags; events as JSON."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.names import is_slug
from earnest.foundation.shapes import to_json

INSTANT_MS_MAX: Final = 2**42
"""Instants lie between 1970 and 2109."""
ID_BYTES_MAX: Final = 512
TAG_BYTES_MAX: Final = 1_024
CONTENT_BYTES_MAX: Final = 16_384

INTENT_WORDS_MAX: Final = 3
INTENT_CHARACTERS_MAX: Final = 64
INTENT_READ_MAX: Final = 4_096
"""Words are looked for in as many characters."""


class Level(StrEnum):
    """Layers of the pyramid (seed R5): events, knowledge of one run, common sense, thinking."""

    M = "M"
    K = "K"
    C = "C"
    T = "T"


TIMELESS: Final = (Level.C, Level.T)
"""The levels that do not decay."""


class MegramState(StrEnum):
    """The directive or end of a run that left the Megram (seed R7)."""

    ABANDON = "abandon"
    ACCEPT = "accept"
    CHANGE_APPROACH = "change_approach"
    SUCCESS = "success"
    BREAK_SYMMETRY = "break_symmetry"
    CHANGE_PATH = "change_path"
    REFINE = "refine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantum:
    """Magnitude `f` in (0, 1], valence `sigma` in [-1, 1], decay `k` per day."""

    f: float
    sigma: float
    k: float


QUANTIZATION: Final[Mapping[MegramState, Quantum]] = MappingProxyType(
    {
        MegramState.ABANDON: Quantum(f=0.95, sigma=-1.0, k=0.05),
        MegramState.ACCEPT: Quantum(f=0.90, sigma=1.0, k=0.05),
        MegramState.CHANGE_APPROACH: Quantum(f=0.85, sigma=-1.0, k=0.05),
        MegramState.SUCCESS: Quantum(f=0.80, sigma=1.0, k=0.05),
        MegramState.BREAK_SYMMETRY: Quantum(f=0.75, sigma=1.0, k=0.05),
        MegramState.CHANGE_PATH: Quantum(f=0.30, sigma=0.0, k=0.2),
        MegramState.REFINE: Quantum(f=0.10, sigma=0.5, k=0.5),
    }
)
"""The quantization matrix (seed R5)."""

DECAYS_PER_DAY: Final = (0.0, 0.05, 0.2, 0.5)
"""The only decay classes. That they are few is what makes a query cost the same at any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Where a Megram belongs: `space` and `entity`, each `kind:name`, of at most TAG_BYTES_MAX bytes."""

    space: str
    entity: str


RECALL_MAX: Final = 10
"""Entries that one plan may be given."""

LOCAL: Final = "env:local"
"""The entity of a macro-event, one about a run as a whole."""
ANY_TARGET: Final = "path:*"
"""The entity that asks about everything a tool was used on; no Megram has it."""
HYPOTHESES: Final = "dream:hypothesis"
"""The entity of untried ideas about a space, which weigh on no other pair."""
NOTES: Final = Tag(space="user:notes", entity=LOCAL)
"""What the user had remembered for every task."""
PERSONA: Final = Tag(space="self:persona", entity=LOCAL)
NO_RUN: Final = "session"
"""Stands for the run where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Megram:
    """One remembered event. Only `last_recalled_at_ms` ever changes, by a recall.

    The caller makes the id, the same for the same event, so that writing it twice is harmless. Levels C and T do not
    decay (`k` = 0). Raises `Refused("megram_invalid")` for a value out of bounds.
    """

    id: str
    level: Level
    created_at_ms: int
    space: str
    entity: str
    content: str
    state: MegramState
    f: float
    sigma: float
    k: float
    agent: str
    run_id: str
    last_recalled_at_ms: int | None = None

    def __post_init__(self) -> None:
        problem = next((problem for problem, present in _problems(self) if present), None)
        if problem:
            raise Refused("megram_invalid", f"megram {self.id[:80]!a}: {problem}")

    @property
    def task(self) -> str:
        """The run that it comes from; a verdict or a word between runs is a task of its own."""
        return self.id if self.run_id == NO_RUN else self.run_id

    @property
    def renewed_at_ms(self) -> int:
        """The instant from which its age counts."""
        return max(self.created_at_ms, self.last_recalled_at_ms or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What is left to say of a Megram that was deleted."""

    id: str
    level: Level
    space: str
    entity: str


def _problems(megram: Megram) -> tuple[tuple[str, bool], ...]:
    instants = (megram.created_at_ms, megram.last_recalled_at_ms or 0)
    return (
        (f"the id has 1 to {ID_BYTES_MAX} bytes", not _is_text(megram.id, ID_BYTES_MAX)),
        ("space and entity are `kind:name`", not (_is_tag(megram.space) and _is_tag(megram.entity))),
        (f"the content has 1 to {CONTENT_BYTES_MAX} bytes", not _is_text(megram.content, CONTENT_BYTES_MAX)),
        (
            f"agent and run have 1 to {ID_BYTES_MAX} bytes",
            not (_is_text(megram.agent, ID_BYTES_MAX) and _is_text(megram.run_id, ID_BYTES_MAX)),
        ),
        (f"instants are 0 to {INSTANT_MS_MAX}", not all(0 <= instant <= INSTANT_MS_MAX for instant in instants)),
        ("f is above 0 and at most 1", not 0 < megram.f <= 1),
        ("sigma is -1 to 1", not -1 <= megram.sigma <= 1),
        (f"k is one of {DECAYS_PER_DAY}", megram.k not in DECAYS_PER_DAY),
        ("levels C and T do not decay", megram.level in TIMELESS and megram.k != 0),
    )


def of_state(
    state: MegramState,
    *,
    megram_id: str,
    level: Level,
    created_at_ms: int,
    tag: Tag,
    content: str,
    agent: str,
    run_id: str,
) -> Megram:
    """A Megram with the magnitude, valence and decay of its state; on levels C and T without decay."""
    quantum = QUANTIZATION[state]
    return Megram(
        id=megram_id,
        level=level,
        created_at_ms=created_at_ms,
        space=tag.space,
        entity=tag.entity,
        content=content,
        state=state,
        f=quantum.f,
        sigma=quantum.sigma,
        k=0.0 if level in TIMELESS else quantum.k,
        agent=agent,
        run_id=run_id,
    )


def target_tag(tool: str, target: str) -> Tag:
    """A micro-event: `tool:<tool>` on `path:<target>`. A tag that is too long keeps its beginning and its digest."""
    return Tag(space=_shortened(f"tool:{tool}"), entity=_shortened(f"path:{target}"))


def tool_tag(tool: str) -> Tag:
    """All that is known of a tool, whatever it was used on; for `shell`, of every program."""
    return Tag(space=f"tool:{tool}", entity=ANY_TARGET)


def tool_of(space: str) -> str | None:
    """The tool that a space of micro-events is about: `shell` of `tool:shell:grep`; None for other spaces."""
    kind, _, name = space.partition(":")
    return name.partition(":")[0] if kind == "tool" else None


def intent_tag(intent: str) -> Tag:
    """A macro-event. A task class stays as it is; of other text, the first three words in any script.

    Letters, marks and numbers of every script make up words, so that two intents are never one for want of Latin
    letters; a text without any word is named by its digest.
    """
    return Tag(space="intent:" + (intent if is_slug(intent) else _words(intent)), entity=LOCAL)


def approach_tag(task_class: str, subtask: str, approach: str) -> Tag:
    """An approach of a playbook, so that a failing one can be avoided and a good one preferred."""
    return Tag(space=_shortened(f"approach:{task_class}/{subtask}"), entity=_shortened(f"approach:{approach}"))


def _words(text: str) -> str:
    kept = (
        character if unicodedata.category(character)[0] in "LMN" else " "
        for character in unicodedata.normalize("NFC", text[:INTENT_READ_MAX].casefold())
        if unicodedata.category(character) != "Cf"  # joiners stand inside words
    )
    words = "_".join("".join(kept).split()[:INTENT_WORDS_MAX])
    if words and len(words) <= INTENT_CHARACTERS_MAX:
        return words
    # Scripts without spaces make one word of a sentence: its beginning is for people, its digest keeps it distinct.
    return f"{words[:INTENT_CHARACTERS_MAX]}#{_digest(words or text)}"


def _shortened(tag: str) -> str:
    if len(tag.encode(errors="replace")) <= TAG_BYTES_MAX:
        return tag
    return f"{tag[:64]}#{_digest(tag)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()


def _is_tag(text: str) -> bool:
    return _is_text(text, TAG_BYTES_MAX) and re.match(r"[a-z]+:.", text, re.DOTALL) is not None


def _is_text(text: str, bytes_max: int) -> bool:
    try:
        return 1 <= len(text.encode()) <= bytes_max
    except UnicodeEncodeError:  # a lone surrogate
        return False


def encode_megram(megram: Megram) -> JsonObject:
    """All its fields; the last recall only if there was one."""
    return {name: value for name, value in to_json(megram).items() if value is not None}


def decode_megram(fields: JsonObject) -> Megram:
    """What `encode_megram` gave. Raises `Broken` for what no version of ours wrote."""
    try:
        values: dict[str, Any] = {**fields}
        weights = {name: float(values[name]) for name in ("f", "sigma", "k")}  # RFC 8785 writes 1.0 as 1
        return Megram(**{**values, **weights, "level": Level(values["level"]), "state": MegramState(values["state"])})
    except (ValueError, TypeError, KeyError, AttributeError, Refused) as error:
        raise Broken(f"memory holds a record that it did not write: {error}") from error
