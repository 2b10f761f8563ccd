"""Does docs/solver.md say what the solver does?"""

from collections.abc import Iterator
from pathlib import Path

from solver_cells import CELLS

from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.constants import BOUNDS, SolverSignal

PAGE = (Path(__file__).parents[3] / "docs" / "solver.md").read_text(encoding="utf-8")


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the table whose first column has this heading."""
    lines = iter(PAGE.splitlines())
    assert any(line.startswith(f"| {heading} |") for line in lines)
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def test_the_page_names_the_state_of_every_cell() -> None:
    written = {int(number): row[-1] for row in rows("cells") for number in row[0].split()}
    assert written == {number: str(cell.state) for number, cell in enumerate(CELLS, start=1)}


def test_the_page_names_every_directive_and_every_cause() -> None:
    assert {row[0] for row in rows("directive")} == {str(state) for state in MacroState if not state.ends}
    assert {row[0]: row[-1] for row in rows("cause of `abandon`")} == {
        str(cause): "yes" if cause.about_task else "no" for cause in AbandonCause
    }


def test_the_page_names_every_constant() -> None:
    names = [name.rstrip("_") for name, _, _ in BOUNDS] + [str(signal) for signal in SolverSignal]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
