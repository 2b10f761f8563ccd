"""A test job, from the commitment before its start to a grade that anybody can repeat. (Market ruling a.8)"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from earnest.client.payloads import Trial as TrialShown
from earnest.foundation.canonical import JsonObject, JsonValue, canonical_bytes, canonical_text
from earnest.foundation.errors import Broken, Refused
from earnest.foundation.instants import SECOND_MS, rfc3339_s
from earnest.foundation.shapes import to_json
from earnest.market.capabilities.capability import Capability, CapabilityState, Trial
from earnest.market.capabilities.generators.generator import Draws, Generator, is_same
from earnest.market.capabilities.generators.registry import GENERATORS, generators_for
from earnest.market.terms import DAY_S, Terms

TRIAL_IDS: Final = "job_test_"
"""What the ids of test jobs, and no others, begin with."""
RUN_S: Final = 1_800
ANSWER_BYTES_MAX: Final = 64 * 1024
CURRENCY: Final = "AID"

_CROCKFORD: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_GRADERS: Final[Mapping[str, Generator]] = {each.version: each for each in GENERATORS.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What is committed to before the start, and revealed after the end."""

    seed: str
    answer_key: JsonValue
    grader_version: str
    salt: str

    @property
    def commitment(self) -> str:
        """SHA-256 over the four, each UTF-8 (the key in its RFC 8785 form), with a line feed between them."""
        key = canonical_bytes(self.answer_key)
        parts = (self.seed.encode(), key, self.grader_version.encode(), self.salt.encode())
        return "sha256:" + hashlib.sha256(b"\n".join(parts)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """An answer's grade. `commitment` is the one that must have been published before the start."""

    passed: bool
    reason: str
    commitment: str


def trial_id_of(capability: Capability) -> str:
    """The id of the next test job of a capability, `job_test_<ULID>`; once that has begun, there is another."""
    digest = hashlib.sha256(f"{capability.id}/{capability.tries}".encode()).digest()[:10]
    time = capability.id.rpartition("_")[2][:10]
    return f"{TRIAL_IDS}{time}{base64.b32encode(digest).translate(_CROCKFORD).decode()}"


def attempts_left(capability: Capability, trials: Iterable[Trial], now_ms: int, terms: Terms) -> int:
    """How many more test jobs of this class may begin now. `trials`: the account's of the last 24 hours, at least."""
    return max(0, terms.trial_attempts_per_day - len(_recent(capability, trials, now_ms)))


def check_start(capability: Capability, trials: Iterable[Trial], now_ms: int, terms: Terms) -> None:
    """May a test job begin? Raises `Refused`: `not_found` (no such test jobs), `limit_reached`, `attempt_limit`."""
    trials = list(trials)
    if not generators_for(capability.category):
        raise Refused("not_found", f"there are no test jobs for {capability.category}")
    if capability.state is CapabilityState.REVOKED:
        raise Refused("limit_reached", "the operator has revoked this capability")
    running = [trial.id for trial in trials if trial.state == "running"]
    if running:
        raise Refused("limit_reached", f"one test job at a time: {running[0]} is running", trial_id=running[0])
    if not attempts_left(capability, trials, now_ms, terms):
        oldest_ms = min(trial.started_at_ms for trial in _recent(capability, trials, now_ms))
        wait_s = oldest_ms // SECOND_MS + DAY_S - now_ms // SECOND_MS
        message = f"{terms.trial_attempts_per_day} test jobs of a class in 24 hours are all"
        raise Refused("attempt_limit", message, retry_after_s=wait_s)


def chosen(capability: Capability, name: str, trials: Iterable[Trial]) -> Generator:
    """The generator of that name; without one that which was begun least often, of equals a hidden one.

    Raises `Refused("validation")` for a name that makes no test jobs of this category.
    """
    known = generators_for(capability.category)
    if name:
        found = next((each for each in known if each.name == name), None)
        if found is None:
            names = ", ".join(each.name for each in known)
            raise Refused("validation", f"generator must be one of {names} for {capability.category}")
        return found
    begun_before = Counter(trial.generator for trial in trials)
    return min(known, key=lambda each: (begun_before[each.name], not each.hidden, each.name))


def begun(capability: Capability, generator: Generator, *, seed: str, salt: str, now_ms: int, terms: Terms) -> Trial:
    """A fresh test job of this capability, running, its secret not in it. `seed` and `salt` have 128 bits or more."""
    instance = generator.make(Draws(seed))
    secret = Secret(seed=seed, answer_key=instance.key, grader_version=generator.version, salt=salt)
    return with_wake(
        Trial(
            id=trial_id_of(capability),
            account_id=capability.account_id,
            capability_id=capability.id,
            category=capability.category,
            task_class=capability.task_class,
            generator=generator.name,
            hidden=generator.hidden,
            state="running",
            question=canonical_text(instance.question),
            secret="",
            commitment=secret.commitment,
            model_fingerprint=capability.model_fingerprint,
            amount_micro=terms.trial_aid_micro,
            currency=CURRENCY,
            started_at_ms=now_ms,
            expires_at_ms=now_ms + RUN_S * SECOND_MS,
        )
    )


def unsealed(trial: Trial, seed: str, salt: str) -> Trial:
    """The test job with its secret. Raises `Broken` if that is not what was committed to."""
    generator = GENERATORS[trial.generator]
    key = generator.make(Draws(seed)).key
    secret = Secret(seed=seed, answer_key=key, grader_version=generator.version, salt=salt)
    if secret.commitment != trial.commitment:
        raise Broken(f"what {trial.id} would reveal is not what it had committed to")
    return replace(trial, secret=canonical_text(to_json(secret)))


def answered(trial: Trial, answer: JsonValue, now_ms: int) -> Trial:
    """An unsealed test job, graded. Raises `Refused`: `claim_state`, `claim_expired`, `validation`, `too_large`."""
    if trial.state != "running":
        message = f"the test job is {trial.state}: it was answered, or its time is over"
        raise Refused("claim_state", message, state=trial.state, allowed_events=[])
    if now_ms >= trial.expires_at_ms:
        raise Refused("claim_expired", f"the test job could be answered until {rfc3339_s(trial.expires_at_ms)}")
    try:
        text = canonical_bytes(answer)
    except ValueError as error:
        raise Refused("validation", f"the answer has no canonical form: {error}") from None
    if len(text) > ANSWER_BYTES_MAX:
        raise Refused("too_large", f"an answer has at most {ANSWER_BYTES_MAX} bytes")
    grade = regrade(json.loads(trial.secret), json.loads(text))
    return with_wake(
        replace(
            trial,
            state="passed" if grade.passed else "failed",
            answer=text.decode(),
            reason=grade.reason,
            graded_at_ms=now_ms,
        )
    )


def overdue(trial: Trial, now_ms: int) -> Trial:
    """A test job when the clock looks at it: abandoned is failed."""
    if trial.state != "running" or now_ms < trial.expires_at_ms:
        return with_wake(trial)
    return with_wake(replace(trial, state="expired", reason="no answer in time", graded_at_ms=now_ms))


def with_wake(trial: Trial) -> Trial:
    """The clock looks at it again when its time is over."""
    return replace(trial, wake_ms=trial.expires_at_ms if trial.state == "running" else None)


def regrade(revealed: JsonObject, answer: JsonValue) -> Grade:
    """The grade of an answer by what was revealed; the same for everybody.

    Raises `Refused("validation")` where `revealed` is not of the form, names a grader that is not installed, or holds a
    key that does not follow from its seed.
    """
    match revealed:
        case {"seed": str(seed), "answer_key": key, "grader_version": str(version), "salt": str(salt)}:
            secret = Secret(seed=seed, answer_key=key, grader_version=version, salt=salt)
        case _:
            raise Refused("validation", "revealed must hold seed, answer_key, grader_version, salt")
    generator = _GRADERS.get(version)
    if generator is None:
        raise Refused("validation", f"there is no grader {version[:80]!r}")
    if not is_same(generator.make(Draws(seed)).key, key):
        raise Refused("validation", "the key does not follow from the seed")
    reason = generator.grade(key, answer)
    return Grade(passed=not reason, reason=reason, commitment=secret.commitment)


def trial_json(trial: Trial) -> TrialShown:
    """How a test job is shown: to its agent from the start, to anybody once it has ended and all is revealed."""
    ended = trial.state != "running"
    return {
        "id": trial.id,
        "capability_id": trial.capability_id,
        "category": trial.category,
        "task_class": trial.task_class,
        "generator": trial.generator,
        "hidden": trial.hidden,
        "state": trial.state,
        "question": json.loads(trial.question),
        "commitment": trial.commitment,
        "amount_micro": trial.amount_micro,
        "currency": trial.currency,
        "started_at": rfc3339_s(trial.started_at_ms),
        "expires_at": rfc3339_s(trial.expires_at_ms),
        "graded_at": rfc3339_s(trial.graded_at_ms),
        "reason": trial.reason,
        "answer": json.loads(trial.answer) if trial.answer else None,
        "revealed": json.loads(trial.secret) if ended and trial.secret else None,
    }


def _recent(capability: Capability, trials: Iterable[Trial], now_ms: int) -> list[Trial]:
    kind = (capability.category, capability.task_class)
    since_ms = now_ms - DAY_S * SECOND_MS
    return [t for t in trials if (t.category, t.task_class) == kind and t.started_at_ms > since_ms]
