"""Which controller solves more of the same simulated tasks: R7 with either gradient, or something simpler?

Prints one JSON object. `python benchmarks/controller.py [--seeds N]`: N tasks of each of the eight families below.

A task is one subtask with six criteria and a few approaches. An approach has tools, targets that are up with some
probability, the number of criteria that it meets at first, and how many more each refinement adds. When the target is
down, every criterion fails for environmental reasons; what the approach itself does not meet fails logically, or, where
it can be refined, for environmental reasons. A round takes 3 to 20 % of the time budget. The planner is a plain one:
told to keep its approach it refines it, on another target if the present one is blocked; told to change it takes one
at random that is not blocked. It is the same for all controllers, and so are tasks and luck. What this cannot show: how
well a model follows a directive.

The controllers beside R7 replan while the budget lasts: `retry` works the same again, `static` changes what failed
last if that was logical, and `chance` takes any approach.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from earnest.engine.gradient.blocking import AttemptedCall, SubTaskTrial
from earnest.engine.gradient.cascade import AbandonCause, MacroState
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.engine.gradient.loss import CriterionState, JudgedCriterion, complete, resource
from earnest.engine.gradient.trajectory import Observation, Round, Trajectory, halt, observe
from earnest.foundation.failures import FailureClass

CRITERIA = 6
SUBTASK = "only"
CHANGE = (MacroState.CHANGE_APPROACH, MacroState.BREAK_SYMMETRY)
CONSTANTS = Constants()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approach:
    """`up`: each target's probability. It meets `met` criteria at first, `gain` more when refined, up to `top`."""

    tools: frozenset[str]
    up: tuple[float, ...]
    met: int
    gain: int = 0
    top: int = CRITERIA

    @property
    def failure(self) -> FailureClass:
        """Why it does not meet what it does not meet."""
        return FailureClass.ENVIRONMENTAL if self.gain else FailureClass.LOGICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    family: str
    approaches: tuple[Approach, ...]
    reachable: bool
    round_ms: int


@dataclass(slots=True)
class Plan:
    """What the planner works now, and what it has tried."""

    chance: random.Random
    approach: int = 0
    target: int = 0
    refinements: int = 0
    tried: set[int] = field(default_factory=lambda: {0})

    def turn_to(self, approach: int) -> None:
        self.approach, self.target, self.refinements = approach, 0, 0
        self.tried.add(approach)


def tools(chance: random.Random, pool: int) -> frozenset[str]:
    return frozenset(f"tool{chance.randrange(pool)}" for _ in range(2))


def wrong(chance: random.Random) -> Approach:
    """Meets up to half, and refining it leads nowhere."""
    met = chance.randint(0, 3)
    return Approach(tools=tools(chance, 12), up=(1.0,), met=met, top=met)


def right(chance: random.Random, *up: float) -> Approach:
    return Approach(tools=tools(chance, 12), up=up or (1.0,), met=CRITERIA)


def one_is_right(chance: random.Random) -> list[Approach]:
    return [right(chance), *(wrong(chance) for _ in range(chance.randint(1, 4)))]


def flaky(chance: random.Random) -> list[Approach]:
    return [right(chance, *[chance.uniform(0.2, 0.7)] * 4) for _ in range(2)]


def blocked(chance: random.Random) -> list[Approach]:
    """Some targets are down for good; another one works."""
    return [right(chance, *[0.0] * chance.randint(1, 2), 1.0), wrong(chance)]


def gradual(chance: random.Random) -> list[Approach]:
    """Refined, it becomes right in two or three rounds; now and then its target is down."""
    return [
        Approach(tools=tools(chance, 12), up=(0.8, 0.9, 1.0), met=chance.randint(1, 3), gain=chance.randint(2, 3)),
        wrong(chance),
    ]


def misleading(chance: random.Random) -> list[Approach]:
    """One improves for a while and stops short, one looks good and is wrong."""
    bait = Approach(tools=tools(chance, 12), up=(1.0,), met=1, gain=1, top=chance.randint(2, 4))
    return [bait, replace(wrong(chance), met=3, top=3), right(chance)]


def worse_before_better(chance: random.Random) -> list[Approach]:
    """Approaches differ widely, so that two changes in a row may be for the worse before the right one comes."""
    others = [replace(wrong(chance), met=met, top=met) for met in chance.sample(range(4), 3)]
    return [*others, right(chance)]


def shared_tools(chance: random.Random) -> list[Approach]:
    """The right approach uses a tool of wrong ones."""
    shared = frozenset({"tool0"})
    ways = [replace(wrong(chance), tools=shared | tools(chance, 6)) for _ in range(3)]
    return [*ways, replace(right(chance), tools=shared | tools(chance, 6))]


def unreachable(chance: random.Random) -> list[Approach]:
    return [wrong(chance) for _ in range(chance.randint(2, 4))]


FAMILIES: Mapping[str, Callable[[random.Random], list[Approach]]] = {
    build.__name__: build
    for build in (
        one_is_right,
        flaky,
        blocked,
        gradual,
        misleading,
        worse_before_better,
        shared_tools,
        unreachable,
    )
}


def task(family: str, seed: int) -> Task:
    chance = random.Random(f"{family}/{seed}")
    approaches = FAMILIES[family](chance)
    chance.shuffle(approaches)
    return Task(
        family=family,
        approaches=tuple(approaches),
        reachable=family != "unreachable",
        round_ms=int(chance.uniform(0.03, 0.20) * CONSTANTS.time_budget_ms),
    )


def worked(one: Task, plan: Plan, luck: random.Random, number: int) -> Observation:
    """Work the plan for a round."""
    approach = one.approaches[plan.approach]
    up = luck.random() < approach.up[plan.target]
    met = min(approach.top, approach.met + approach.gain * plan.refinements) if up else 0
    failure = approach.failure if up else FailureClass.ENVIRONMENTAL
    call = AttemptedCall(
        tools=approach.tools, target=f"{plan.approach}/{plan.target}", ok=up, failure=None if up else failure
    )
    return Observation(
        judged=tuple(
            JudgedCriterion(
                criterion=f"C{at}",
                subtask=SUBTASK,
                answer=CriterionState.PASS if at < met else CriterionState.FAIL,
                failure_class=None if at < met else failure,
            )
            for at in range(CRITERIA)
        ),
        trials=(SubTaskTrial(subtask=SUBTASK, calls=(call,)),),
        elapsed_ms=number * one.round_ms,
        alternatives={SUBTASK: tuple(a.tools for at, a in enumerate(one.approaches) if at not in plan.tried)},
    )


def obeyed(one: Task, plan: Plan, current: Round) -> bool:
    """Plan the next round as R7 says; False if nothing is left to try."""
    directive = current.directive
    assert directive is not None
    down = {target.target for target in directive.blocked_targets}
    left = [at for at, _ in enumerate(one.approaches[plan.approach].up) if f"{plan.approach}/{at}" not in down]
    if current.decision.state not in CHANGE and left:
        plan.refinements += plan.target in left
        plan.target = left[0]
        return True
    banned = frozenset(directive.blocked_tools)
    free = [at for at, a in enumerate(one.approaches) if at not in plan.tried and a.tools.isdisjoint(banned)]
    if free:
        plan.turn_to(plan.chance.choice(free))
    return bool(free)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`given_up_early`: abandoned by Law 2 although it could be done and the budget was not spent."""

    solved: bool
    rounds: int
    given_up_early: bool = False


def by_solver(signal: SolverSignal) -> Callable[[Task, Plan, random.Random], Score]:
    constants = replace(CONSTANTS, signal=signal)

    def work(one: Task, plan: Plan, luck: random.Random) -> Score:
        trajectory = Trajectory()
        while trajectory.end is None:
            observation = worked(one, plan, luck, len(trajectory.rounds) + 1)
            trajectory, current = observe(trajectory, observation, constants)
            if current.directive is not None and not obeyed(one, plan, current):
                trajectory = halt(trajectory, AbandonCause.EXHAUSTED)
        end = trajectory.end
        return Score(
            solved=end.state is not MacroState.ABANDON,
            rounds=len(trajectory.rounds),
            given_up_early=one.reachable and end.cause is AbandonCause.DIVERGENCE,
        )

    return work


def by_rule(change: Callable[[Task, Plan, bool], None]) -> Callable[[Task, Plan, random.Random], Score]:
    """A controller without a trajectory: `change` hears whether the last round failed logically."""

    def work(one: Task, plan: Plan, luck: random.Random) -> Score:
        for number in range(1, CONSTANTS.max_replans + 2):
            seen = worked(one, plan, luck, number)
            unmet = sum(not judged.passed for judged in seen.judged)
            if complete(seen.judged) or unmet / CRITERIA <= CONSTANTS.delta:
                return Score(solved=True, rounds=number)
            omega = resource(failing_rounds=number, elapsed_ms=seen.elapsed_ms, constants=CONSTANTS)
            if CONSTANTS.reached(omega, CONSTANTS.theta):
                break
            change(one, plan, seen.judged[-1].failure_class is FailureClass.LOGICAL)
        return Score(solved=False, rounds=number)

    return work


def retry(_one: Task, plan: Plan, _logical: bool) -> None:
    plan.refinements += 1


def static(one: Task, plan: Plan, logical: bool) -> None:
    others = [at for at, _ in enumerate(one.approaches) if at != plan.approach]
    if logical:
        plan.turn_to(plan.chance.choice(others))
    else:
        plan.target = (plan.target + 1) % len(one.approaches[plan.approach].up)


def chance(one: Task, plan: Plan, _logical: bool) -> None:
    plan.turn_to(plan.chance.randrange(len(one.approaches)))


CONTROLLERS: Mapping[str, Callable[[Task, Plan, random.Random], Score]] = {
    "quality": by_solver(SolverSignal.QUALITY),
    "loss": by_solver(SolverSignal.LOSS),
    "static": by_rule(static),
    "chance": by_rule(chance),
    "retry": by_rule(retry),
}


def scores(name: str, family: str, seeds: int) -> Iterator[Score]:
    for seed in range(seeds):
        plan = Plan(chance=random.Random(f"planner/{family}/{seed}"))
        yield CONTROLLERS[name](task(family, seed), plan, random.Random(f"luck/{family}/{seed}"))


def measured(name: str, seeds: int) -> dict[str, object]:
    """Shares are of reachable tasks; `wasted` rounds are those of runs that were not solved."""
    solved: dict[str, float] = {}
    totals: Counter[str] = Counter()
    for family in FAMILIES:
        found = list(scores(name, family, seeds))
        solved[family] = round(sum(one.solved for one in found) / seeds, 3)
        totals["rounds"] += sum(one.rounds for one in found)
        totals["wasted"] += sum(one.rounds for one in found if not one.solved)
        totals["given_up_early"] += sum(one.given_up_early for one in found)
    reachable = [share for family, share in solved.items() if family != "unreachable"]
    tasks = seeds * len(FAMILIES)
    return {
        "solved_permille": round(1000 * sum(reachable) / len(reachable)),
        "rounds_per_task": round(totals["rounds"] / tasks, 3),
        "wasted_rounds_per_task": round(totals["wasted"] / tasks, 3),
        "given_up_early_permille": round(1000 * totals["given_up_early"] / (seeds * len(reachable))),
        "solved": solved,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare controllers on simulated tasks.")
    parser.add_argument("--seeds", type=int, default=1_000)
    seeds = parser.parse_args().seeds
    result: dict[str, object] = {name: measured(name, seeds) for name in CONTROLLERS}
    shares = {name: int(str(values["solved_permille"])) for name, values in result.items() if isinstance(values, dict)}
    simpler = max(shares[name] for name in ("static", "chance", "retry"))
    print(
        json.dumps(
            {
                "tasks": seeds * len(FAMILIES),
                **result,
                "quality_over_loss_permille": shares["quality"] - shares["loss"],
                "quality_over_simpler_permille": shares["quality"] - simpler,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
