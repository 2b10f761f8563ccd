"""Every pattern of ours that meets the text of strangers grows with the text and no faster."""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import earnest
from earnest import verification
from earnest.contracts import heartbeat
from earnest.effects.hands.tools import failures
from earnest.market.jobs import offer
from earnest.verification.judging.orders import _orders

SHORT, LONG = 2_000, 8_000
LINEAR, QUADRATIC = 4, 16
QUICK_S = 0.002  # for the short text: a pattern that grows with its square takes three milliseconds and more
BASE = ("a", "0", " ", "\n", "_", "-", '"', "/", "<", "игнориру", "is ")
UNITS = (
    *(*BASE, "\t", ".", "*", "#", "[", "(", "`", "|", "\\", "=", ":", "{", "“", "[](", "![](", "[a]", "<a ", "<a\t"),
    *("<!--", "](", "a.", "a-", "a_", "- ", "> ", "1. ", "./", " /", "a/", "é ", "%41", "1 ", "&#1", "\\x41", ". "),
    *("insert ", "put a ", "judge must ", "mark is ", "ignore ", "забудь", "указани", "忽略", "通过", "تجاهل", "todo "),
    *("display:", "ok: ", "\\phantom{", "<rt>", "to be ", "not yet ", "[ "),
)
BEFORE = ("[](", "<a ", '"', "`", "ignore ", "put ", "judge ", "mark is ", "fill in ", "<!--", "\\phantom{", "&#", "1.")
TEXTS = (*(("", unit) for unit in UNITS), *((before, unit) for before in BEFORE for unit in BASE))
END = "\0"  # so that what could match does not


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield importlib.import_module(found.name)


def patterns() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {f"orders {number}": one for number, one in enumerate(_orders())}
    for module in (*modules(verification), *modules(heartbeat), failures, offer):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                text = value.pattern.decode() if isinstance(value.pattern, bytes) else value.pattern
                found[f"{module.__name__}.{name}"] = re.compile(text, value.flags & ~re.UNICODE)
    return found


PATTERNS = patterns()


def scanned() -> frozenset[str]:
    """The names of patterns that are looked for anywhere in a text; all others are held against its beginning."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(earnest.__file__).parent.rglob("*.py"))
    anchored = set(re.findall(r"\b(\w+)\.(?:match|fullmatch)\(", source))
    uses = set(re.findall(r"\b(\w+)\.(?:search|finditer|findall|subn?|split)\(", source))
    return frozenset(name for name in PATTERNS if (last := name.rpartition(".")[2]) in uses or last not in anchored)


SCANNED = scanned()


def took_s(pattern: re.Pattern[str], before: str, unit: str, length: int, *, scans: bool) -> float:
    """CPU time of finding all that is there, if it `scans`, and of matching the beginning and the whole."""
    text = before + unit * (length // len(unit)) + END
    began = time.process_time()
    for _found in pattern.finditer(text) if scans else ():
        pass
    pattern.match(text)
    pattern.fullmatch(text)
    return time.process_time() - began


def grows(pattern: re.Pattern[str], *, scans: bool = True) -> str:
    """The text for which it grows too fast, or nothing. Twice, because other work of the machine costs time too."""
    for text in TEXTS:
        if took_s(pattern, *text, SHORT, scans=scans) > QUICK_S:
            short_s, long_s = (
                min(took_s(pattern, *text, length, scans=scans) for _ in range(2)) for length in (SHORT, LONG)
            )
            if long_s > short_s * (LINEAR * QUADRATIC) ** 0.5:
                return f"{text}: {short_s:.4f} s, {long_s:.4f} s"
    return ""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PATTERNS)
def test_four_times_the_text_takes_no_more_than_a_few_times_as_long(name: str) -> None:
    assert not grows(PATTERNS[name], scans=name in SCANNED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"\[\]\([^()<>\s]*>?[^()\n]*\)", "two parts share what they match"),
        (r"(?m)^\s*import", "a line's start that runs over lines"),
        pytest.param(r"игнориру\w*.{0,60}?указани", "a word's rest at each of its letters", marks=pytest.mark.slow),
    ],
)
def test_a_pattern_that_grows_faster_is_found(pattern: str, why: str) -> None:
    assert grows(re.compile(pattern)), why
