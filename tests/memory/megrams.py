"""Megrams for tests, and what potentials are by definition."""

import math
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from earnest.foundation.instants import DAY_MS
from earnest.memory.megram import DECAYS_PER_DAY, INSTANT_MS_MAX, Level, Megram, MegramState, intent_tag, of_state

START_MS = 1_750_000_000_000
TAG = intent_tag("python_inventory")


def megram(
    megram_id: str = "run/1", state: MegramState = MegramState.ABANDON, *, at_ms: int = START_MS, level: Level = Level.M
) -> Megram:
    return of_state(
        state,
        megram_id=megram_id,
        level=level,
        created_at_ms=at_ms,
        tag=TAG,
        content=f"content of {megram_id}",
        agent="resident",
        run_id="run",
    )


def instants() -> st.SearchStrategy[int]:
    """Some weeks around START_MS, exact coincidences, and all that is possible."""
    near = st.integers(-60 * DAY_MS, 60 * DAY_MS).map(lambda offset: START_MS + offset)
    return st.one_of(near, st.sampled_from([START_MS, START_MS + 1, 0, INSTANT_MS_MAX]), st.integers(0, INSTANT_MS_MAX))


def megrams() -> st.SearchStrategy[Megram]:
    return st.builds(
        lambda number, at_ms, f, sigma, k, level: replace(
            megram(f"m{number}", at_ms=at_ms), f=f, sigma=sigma, k=k, level=level
        ),
        st.integers(0, 40),
        instants(),
        st.one_of(st.sampled_from([0.1, 0.3, 0.95, 1.0]), st.floats(1e-9, 1.0)),
        st.one_of(st.sampled_from([-1.0, 0.0, -0.0, 0.5, 1.0]), st.floats(-1.0, 1.0)),
        st.sampled_from(DECAYS_PER_DAY),
        st.sampled_from([Level.M, Level.K]),
    )


def directly(remembered: Iterable[Megram], now_ms: int) -> tuple[float, float]:
    """Attention and decision as the seed defines them, summed over all Megrams; no age is below 0."""
    weights = [
        (one.f * math.exp(-one.k * max(0, now_ms - one.renewed_at_ms) / DAY_MS), one.sigma) for one in remembered
    ]
    return math.fsum(weight for weight, _ in weights), math.fsum(sigma * weight for weight, sigma in weights)
