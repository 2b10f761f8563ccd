"""What a document shows on a terminal: commands with what they print, masked where runs differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# What differs from run to run, and what stands in its place on both sides.
MASKS = (
    (r"run_[0-9A-HJKMNP-TV-Z]{26}", "RUN"),
    (r"job_[0-9A-HJKMNP-TV-Z]{26}", "JOB"),
    (r"(sha256:)?\b[0-9a-f]{64}\b", "DIGEST"),
    (r"\b[0-9a-f]{32}\b", "VERDICT"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "INSTANT"),
    (r'("\w+_ms": )\d+', r"\1MS"),
    (r"\b\d+\.\d s\b|\b\d+ ms\b", "TIME"),
    (r"(?<=Ω )\d\.\d\d|(?<=loss )\d\.\d\d|(?<=Omega=)\S+|(?<=L=)\S+|(?<=loss_gradient=)\S+", "BY TIME"),
    (r"^\d+(?=  INSTANT)|\b\d+(?= (?:facts|lines|heads)\b)|(?<=size=)\d+|(?<=head/)\d+", "NUMBER"),
    (r"\d+ MiB", "SIZE"),
    (r"(click|earnest|lmdb|pydantic|sqlite|bubblewrap) \d[\w.]*", r"\1 VERSION"),
    (r"\d\.\d+\.\d+ on Linux\S+", "PYTHON on LINUX"),
    (r"\([a-z]+, uid per slot, limits by peaks\)|\([a-z]+\)(?=: held)", "(MODE)"),
    (r" {2,}", "  "),
)


_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A line that is typed, and what is shown under it; `shown` None: nothing is said about it."""

    typed: str
    shown: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class GivenFile:
    """A file that the document gives: a block of YAML whose first line is its name, as `# todo.yaml`."""

    name: str
    text: str


def masked(text: str) -> str:
    """The text with stand-ins for what differs from run to run."""
    for pattern, stand_in in MASKS:
        text = re.sub(pattern, stand_in, text)
    return text.rstrip()


def blocks(document: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [text for found, text in _BLOCK.findall(document.read_text(encoding="utf-8")) if found == language]


def script(document: Path) -> Iterator[Scene | GivenFile]:
    """What a reader does, from the top: blocks `sh` are typed, `console` typed and compared, named files written."""
    for language, text in _BLOCK.findall(document.read_text(encoding="utf-8")):
        if language == "yaml" and (name := re.match(r"# ([\w./-]+\.yaml)\n", text)):
            yield GivenFile(name=name[1], text=text)
        elif language == "sh":
            yield from (Scene(typed=line, shown=None) for line in text.splitlines() if line)
        elif language == "console":
            for scene in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, shown = scene.partition("\n")
                yield Scene(typed=command, shown=tuple(shown.splitlines()))


def as_pattern(shown: Sequence[str]) -> str:
    """Shown lines as a pattern; a line of one `…` stands for any lines."""
    return "".join("(?:.*\n)*?" if line.strip() == "…" else f"{re.escape(masked(line))}\n" for line in shown)


def told_as_shown(told: str, shown: Sequence[str]) -> str:
    """Why what was printed is not what is shown; empty if it is."""
    real = "".join(f"{masked(line)}\n" for line in told.splitlines())
    return "" if re.fullmatch(as_pattern(shown), real) else f"{real}\nis shown as\n" + "\n".join(shown)
