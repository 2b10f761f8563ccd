"""Templates, what they may call, and the headers of every page."""

import re
from datetime import datetime
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from earnest.foundation.instants import duration_text, rfc3339_s
from earnest.market.reviews.reputation import PPM, Reputation
from earnest.surfaces.charts import Chart, svg
from earnest.surfaces.dashboard.files import address
from earnest.surfaces.dashboard.look import Look

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
MICRO: Final = 1_000_000
SIGNS: Final = {"USD": "$", "EUR": "€", "AID": "ai$"}
_TONES: Final = {
    "good": "verified released done green accept success matched met applied outstanding excellent good exploit",
    "bad": "avoid not_verified declined refunded expired abandon failed red lockdown escalated suspended",
    "doubt": "caution unclear yellow disputed submitted changes_requested unfinished tightened warning",
}
_WORDS: Final = {word: tone for tone, words in _TONES.items() for word in words.split()}
_ENDS: Final = {
    "released": ("good", "kept: paid in full"),
    "split": ("doubt", "divided by a ruling"),
    "refunded": ("bad", "broken: work rejected"),
    "missed_deadline": ("bad", "broken: nothing handed in"),
    "late": ("doubt", "handed in late"),
    "late_cancel": ("doubt", "given back late"),
    "withdrew": ("doubt", "given back when changes were asked for"),
    "early_cancel": ("plain", "given back in time"),
}


def money(amount_micro: int, currency: str) -> str:
    """`$ 12.50`: micro-units in the currency's own, two places at least."""
    whole, part = divmod(abs(amount_micro), MICRO)
    places = f"{part:06d}".rstrip("0").ljust(2, "0")
    sign = "\N{MINUS SIGN}" if amount_micro < 0 else ""
    return f"{sign}{SIGNS.get(currency, currency)} {whole:,}.{places}"


def moment(value: int | str | None, now_ms: int) -> Markup:
    """An instant (ms, or RFC 3339) as how long ago it is or how soon, with the whole of it in the title."""
    if value is None:
        return Markup("<span class=quiet>never</span>")
    at_ms = value if isinstance(value, int) else int(datetime.fromisoformat(value).timestamp()) * 1_000
    exact = rfc3339_s(at_ms)
    shown = exact.replace("T", " ").removesuffix("Z") + " UTC"
    gap_ms = now_ms - at_ms
    about = _about(abs(gap_ms))
    said = "now" if not about else f"{about} ago" if gap_ms > 0 else f"in {about}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, shown, said)


def _about(gap_ms: int) -> str:
    seconds = gap_ms // 1_000
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{seconds // size} {word}"
    return ""


def percent(reputation: Reputation) -> str:
    """A reputation as people read it."""
    return f"{reputation.lower_bound_ppm / PPM:.1%}".replace("%", " %")


def tone(word: object) -> str:
    """How a state is coloured: `good`, `bad`, `doubt` or `plain`."""
    return _WORDS.get(str(word), "plain")


def said(word: object) -> str:
    """A word of ours as people write it: `not_verified` → `not verified`."""
    return str(word).replace("_", " ")


def badge(word: object) -> Markup:
    """A state in its colour."""
    return Markup('<span class="badge {}">{}</span>').format(tone(word), said(word))


def end(kind: object) -> Markup:
    """What came of a promise, by its signal."""
    tone, words = _ENDS.get(str(kind), ("plain", said(kind)))
    return Markup('<span class="badge {}">{}</span>').format(tone, words)


def diff_lines(text: str) -> list[tuple[str, str]]:
    """Each line of a unified diff with its class."""
    return [(_diff_class(line), line) for line in text.splitlines()]


def _diff_class(line: str) -> str:
    if line.startswith(("+++", "---", "mode ")):
        return "file"
    return {"+": "plus", "-": "minus", "@": "hunk"}.get(line[:1], "")


def short(digest: str) -> str:
    """A digest by its first characters."""
    return re.sub(r"^(sha256:)?([0-9a-f]{12})[0-9a-f]+$", r"\2…", digest)


def drawn(chart: Chart) -> Markup:
    """A chart within a page: what stands there where no script draws it."""
    return Markup(svg(chart))  # noqa: S704 - `svg` escapes what it is given


def plotted(chart: Chart) -> list[dict[str, object]]:
    """The series of a chart, for the script that draws them."""
    return [{"name": one.name, "values": list(one.values), "steps": one.steps} for one in chart.series]


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("earnest.surfaces.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        badge=badge, end=end, tone=tone, said=said, short=short, difflines=diff_lines, duration=duration_text
    )
    found.globals.update(file=address, money=money, moment=moment, percent=percent, drawn=drawn, plotted=plotted)
    return found


ENVIRONMENT: Final = _environment()


def rendered_page(template: str, look: Look, **given: Any) -> str:
    """A template's text for one look."""
    return ENVIRONMENT.get_template(template).render(look=look, now_ms=look.now_ms, **given)
