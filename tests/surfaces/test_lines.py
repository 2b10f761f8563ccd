"""What a run looks like in lines: is what is promised told first, and once?"""

from dataclasses import replace

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.engine.messages import PlannedSubTask, PlanReady
from earnest.surfaces.cli.lines import Teller

ADDS = Criterion(id="C1", text="add adds", check=CheckSpec(kind="command", config={"command": "python3 -m unittest"}))
READS = Criterion(id="C1", text="it reads well")
FEW = Criterion(id="C2", text="few lines differ", check=CheckSpec(kind="diff", config={"edit": "calc", "lines_max": 9}))
MEND = PlannedSubTask(id="mend", sequence=1, intent="Mend add", criteria=(ADDS,))
TELL = PlannedSubTask(id="tell", sequence=2, intent="Tell of it", criteria=(READS,))
PLAN = PlanReady(round=1, task_criteria=(ADDS, FEW), subtasks=(MEND,))


def told(teller: Teller, plan: PlanReady) -> list[str]:
    return [text for text, _ in teller.lines_of(plan)]


def test_a_plan_tells_each_criterion_and_what_decides_it_before_the_work() -> None:
    assert told(Teller(), PLAN) == [
        "round 1",
        "1. mend: Mend add",
        "   - add adds  [command python3 -m unittest]",
        "the whole:",
        '   - few lines differ  [diff {"edit":"calc","lines_max":9}]',
    ]


def test_a_later_round_tells_what_it_promises_beyond_the_earlier_ones() -> None:
    teller = Teller()
    told(teller, PLAN)
    stricter = replace(FEW, text="three lines differ")
    later = replace(PLAN, round=2, carried=("mend",), subtasks=(MEND, TELL), task_criteria=(ADDS, stricter))
    assert told(teller, later) == [
        "round 2, kept: mend",
        "2. tell: Tell of it",
        "   - it reads well  [a model, by the records]",
        "the whole:",
        '   - three lines differ  [diff {"edit":"calc","lines_max":9}]',
    ]


def test_what_somebody_was_asked_to_amend_is_not_told_again() -> None:
    teller = Teller()
    assert "   - add adds  [command python3 -m unittest]" in [text for text, _ in teller.promised(PLAN)]
    assert told(teller, PLAN) == ["round 1", "1. mend: Mend add"]
    assert any("add adds" in text for text, _ in teller.promised(PLAN)), "asked again, all of it is shown"
