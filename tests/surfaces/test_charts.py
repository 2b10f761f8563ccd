"""Charts as pictures, tables and characters."""

from hypothesis import example, given
from hypothesis import strategies as st

from earnest.surfaces.charts import Chart, Series, csv_text, svg, terminal

VALUES = st.lists(st.none() | st.floats(-1e6, 1e6) | st.integers(-500, 500), max_size=40)


def chart(*values: float | None, **changes: object) -> Chart:
    series = (Series(name="points", values=tuple(values)), Series(name="bar", values=tuple(values), steps=True))
    given = {
        "title": "t",
        "across": "day",
        "up": "points",
        "labels": tuple(map(str, range(len(values)))),
        "series": series,
        **changes,
    }
    return Chart(**given)  # type: ignore[arg-type]


@given(VALUES, st.booleans())
@example([5e-324], False)
@example([-1e-320], True)
@example([3e-308], False)
def test_any_values_can_be_drawn_and_none_lies_outside(values: list[float | None], bars: bool) -> None:
    drawn = chart(*values, bars=bars)
    picture = svg(drawn)
    assert picture.startswith("<svg")
    assert picture.count("<svg") == picture.count("</svg>") == 1
    assert "nan" not in picture
    assert all(len(line) <= 80 for line in terminal(drawn))
    assert len(csv_text(drawn).splitlines()) == len(values) + 1


def test_texts_stay_texts() -> None:
    hostile = '"><script>alert(1)</script>'
    assert "<script>" not in svg(chart(1, 2, title=hostile, labels=(hostile, hostile)))
    assert "\n'=cmd()" in csv_text(chart(1, labels=("=cmd()",)))


def test_a_terminal_shows_what_rises_and_what_falls_below_zero() -> None:
    lines = terminal(chart(0, 5, 10))
    top = next(line for line in lines if "│" in line)
    assert top.startswith("      10 │")
    assert top.rstrip().endswith("█" * 5)
    assert any("░" in line for line in terminal(chart(10, -10)))
