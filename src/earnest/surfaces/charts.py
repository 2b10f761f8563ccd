"""Charts as values, and as what is looked at: SVG, CSV, characters of a terminal."""

import csv
import io
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 210
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 24, 38
COLOURS: Final = ("#0b8a6a", "#c2571a", "#4a6fd4", "#9a4fb0", "#888888")
"""Of the series, in order; each has a contrast of 3:1 or more on white and on near-black."""
_FONT: Final = 'font-family="system-ui, sans-serif" font-size="11"'
EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
TERMINAL_ROWS: Final = 8
TERMINAL_COLUMNS: Final = 60
COLUMN_MAX: Final = 5
LABELS_MAX: Final = 8
CHARACTER_WIDTH: Final = 6.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line. None stands where nothing was measured; `steps`: a value holds until the next."""

    name: str
    values: tuple[float | None, ...]
    steps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Series over the same labels. `across` and `up` name the axes, with their units; `bars`: the first series is
    drawn as bars.
    """

    title: str
    across: str
    up: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    bars: bool = False

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to draw."""
        return not self.labels or not any(value is not None for one in self.series for value in one.values)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value shown; 0 is always among them."""
        values = [value for one in self.series for value in one.values if value is not None]
        low, high = min([0.0, *values]), max([0.0, *values])
        has_span = high - low > sys.float_info.min  # a smaller one cannot be divided into steps
        return (low, high) if has_span else (low, low + 1)


def number(value: float) -> str:
    """A value as people write it."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"


def csv_text(chart: Chart) -> str:
    """A row for each label, a column for each series."""
    rows = ((label, *(one.values[index] for one in chart.series)) for index, label in enumerate(chart.labels))
    return table_csv(("", *(one.name for one in chart.series)), rows)


def table_csv(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Rows under a line of names (RFC 4180); None is an empty cell. A cell that a spreadsheet would run is quoted."""
    out = io.StringIO()
    writer = csv.writer(out)
    for row in (columns, *rows):
        writer.writerow([_harmless(one) if isinstance(one, str) else "" if one is None else repr(one) for one in row])
    return out.getvalue()


def svg(chart: Chart) -> str:
    """A picture that needs nothing beside it."""
    low, high = chart.bounds
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {_FONT}>',
        f"<title>{escape(_told(chart))}</title>",
    ]
    for value in _ticks(low, high):
        y = _y(value, low, high)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884" />'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#777">{number(value)}</text>'
        )
    every = max(1, math.ceil(len(chart.labels) / LABELS_MAX))
    for index in range(0, len(chart.labels), every):
        x = _x(chart, index)
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - 22}" text-anchor="middle" fill="#777">{escape(chart.labels[index])}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="2" y="12" fill="#777">{escape(chart.up)}</text>')
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle" fill="#777">{escape(chart.across)}</text>')
    if len(chart.series) > 1:
        parts.append(_legend(chart))
    for place, one in enumerate(chart.series):
        draw = _bars if chart.bars and place == 0 else _line
        parts.append(draw(chart, one, COLOURS[place % len(COLOURS)]))
    return "".join([*parts, "</svg>"])


def terminal(chart: Chart, rows: int = TERMINAL_ROWS) -> list[str]:
    """Each series as a band of columns, one a label, in eighths of a row; what lies below 0 hangs from it."""
    lines = [chart.title]
    low, high = chart.bounds
    for one in chart.series:
        named = one.name if one.name == chart.up else f"{one.name} ({chart.up})"
        lines += ["", f"  {named}", *_band(one.values, low, high, rows)]
    ends = f"{chart.labels[0]} … {chart.labels[-1]}" if len(chart.labels) > 1 else "".join(chart.labels)
    return [*lines, "", f"  {ends}  ({chart.across})"]


def _band(values: Sequence[float | None], low: float, high: float, rows: int) -> list[str]:
    span, found = high - low, list[str]()
    width = max(1, min(COLUMN_MAX, TERMINAL_COLUMNS // max(1, len(values)) - 1))
    for row in range(rows - 1, -1, -1):
        bottom, size = low + span * row / rows, span / rows
        cells = "".join(_cell(value, bottom, size) * width + " " * (width > 1) for value in values)
        mark = number(high) if row == rows - 1 else number(low) if row == 0 else ""
        found.append(f"{mark:>8} │{cells.rstrip()}")
    return found


def _cell(value: float | None, bottom: float, size: float) -> str:
    if value is None:
        return " "
    if value < 0:
        return "░" if bottom + size <= 0 and bottom + size > value else " "
    filled = (value - max(bottom, 0)) / size if bottom + size > 0 else 0
    return EIGHTHS[max(0, min(8, round(filled * 8)))]


def _told(chart: Chart) -> str:
    lasts = (
        f"{one.name} {number(one.values[-1])}" for one in chart.series if one.values and one.values[-1] is not None
    )
    return f"{chart.title}; at last: {', '.join(lasts)}" if not chart.is_empty else chart.title


def _ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    while (high - low) / step > 4:
        step *= 2.5 if round(step / 10 ** math.floor(math.log10(step))) == 2 else 2
    return [step * index for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _legend(chart: Chart) -> str:
    """The names of the series in their colours, from the right."""
    found, x = [], float(WIDTH - RIGHT)
    for place, one in reversed([*enumerate(chart.series)]):
        colour = COLOURS[place % len(COLOURS)]
        found.append(f'<text x="{x:.0f}" y="12" text-anchor="end" fill="{colour}">{escape(one.name)}</text>')
        x -= CHARACTER_WIDTH * len(one.name) + 12
    return "".join(found)


def _x(chart: Chart, index: int) -> float:
    slots = max(1, len(chart.labels))
    return LEFT + (WIDTH - LEFT - RIGHT) * (index + 0.5) / slots


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def _bars(chart: Chart, one: Series, colour: str) -> str:
    low, high = chart.bounds
    width = max(1.0, (WIDTH - LEFT - RIGHT) / max(1, len(chart.labels)) * 0.7)
    shapes = []
    for index, value in enumerate(one.values):
        if value:
            top, bottom = sorted((_y(value, low, high), _y(0, low, high)))
            x = _x(chart, index) - width / 2
            shapes.append(f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}" rx="1"/>')
    return f'<g fill="{colour}">{"".join(shapes)}</g>'


def _line(chart: Chart, one: Series, colour: str) -> str:
    low, high = chart.bounds
    path, is_down = [], False
    for index, value in enumerate(one.values):
        if value is None:
            is_down = False
            continue
        x, y = _x(chart, index), _y(value, low, high)
        if is_down and one.steps:
            path.append(f"H{x:.1f}V{y:.1f}")
        else:
            path.append(f"{'L' if is_down else 'M'}{x:.1f} {y:.1f}")
        is_down = True
    dots = "".join(
        f'<circle cx="{_x(chart, index):.1f}" cy="{_y(value, low, high):.1f}" r="2.5"/>'
        for index, value in enumerate(one.values)
        if value is not None
    )
    dashed = ' stroke-dasharray="4 3"' if one.steps else ""
    if chart.bars and not one.steps:
        return f'<g fill="{colour}">{dots}</g>'
    line = f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    return line + (f'<g fill="{colour}">{dots}</g>' if not one.steps else "")


def _harmless(text: str) -> str:
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text
