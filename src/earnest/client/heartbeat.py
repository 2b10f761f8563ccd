"""The agent's own heartbeat: when to look again, when to tell its human. (Market rulings A24, A25, A36; the seed)"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from earnest.client.payloads_home import Home
from earnest.client.private_file import write_private
from earnest.client.problem import Problem
from earnest.foundation.errors import EarnestError, Refused, Unavailable
from earnest.foundation.instants import rfc3339_s

FILE_NAME: Final = "heartbeat.json"
MS: Final = 1_000
SPACING_MS: Final = 60 * MS
IDLE_MAX: Final = 10
LONGEST_MS: Final = 24 * 3_600 * MS
ERRORS_MAX: Final = 5
BREAK_MS: Final = 3_600 * MS
JUDGED_NEXT: Final = frozenset({"submitted", "verified"})
NO_ACTION: Final = frozenset({401, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatState:
    """The seed's state file. `last_heartbeat_at` 0: there was none."""

    last_heartbeat_at_ms: int = 0
    last_home_response_hash: str = ""
    consecutive_no_action_count: int = 0
    consecutive_error_count: int = 0

    @property
    def is_broken(self) -> bool:
        """So many errors in a row that a human should know. Until that is over, one look an hour finds out."""
        return self.consecutive_error_count >= ERRORS_MAX

    def is_same(self, home: Home) -> bool:
        """True where nothing has changed since the last look: work can be skipped."""
        return home["state_hash"] == self.last_home_response_hash

    def looked(self, now_ms: int, home: Home | None, *, acted: bool) -> "HeartbeatState":
        """After a look that was answered; None: it was not at the home."""
        return HeartbeatState(
            last_heartbeat_at_ms=now_ms,
            last_home_response_hash=self.last_home_response_hash if home is None else home["state_hash"],
            consecutive_no_action_count=0 if acted else self.consecutive_no_action_count + 1,
        )

    def failed(self, now_ms: int, error: EarnestError) -> "HeartbeatState":
        """After a look or an action that failed. A refusal by the rules is an answer, and no error."""
        errors = self.consecutive_error_count + 1 if is_error(error) else 0
        return replace(self, last_heartbeat_at_ms=now_ms, consecutive_error_count=errors)

    def next_ms(self, advised_ms: int, boundary_ms: int | None = None) -> int:
        """The instant of the next look, `advised_ms` being how long the platform or a scheduler would wait.

        Never within a minute of the last. After ten looks without an action the wait doubles with each, up to a day,
        but never past `boundary_ms`, the next instant at which something is due.
        """
        if self.is_broken:
            return self.last_heartbeat_at_ms + BREAK_MS
        idle = self.consecutive_no_action_count - IDLE_MAX
        wait_ms = advised_ms
        if idle >= 0:
            wait_ms = max(advised_ms, min(LONGEST_MS, advised_ms << min(idle + 1, 32)))
        at_ms = self.last_heartbeat_at_ms + wait_ms
        if boundary_ms is not None and boundary_ms > self.last_heartbeat_at_ms:
            at_ms = min(at_ms, boundary_ms)
        return max(at_ms, self.last_heartbeat_at_ms + SPACING_MS)

    def may_look(self, now_ms: int) -> bool:
        """Back-pressure: for schedulers that call as often as they like."""
        return now_ms >= self.last_heartbeat_at_ms + (BREAK_MS if self.is_broken else SPACING_MS)


def is_error(error: EarnestError) -> bool:
    """Does it count for the circuit breaker: no network, 5xx, 429, 401? A conflict is an answer."""
    if isinstance(error, Problem):
        return error.status >= 500 or error.status in NO_ACTION
    return isinstance(error, Unavailable)


def next_boundary_ms(home: Home, now_ms: int) -> int | None:
    """The next instant at which something in a home is due or changes its class."""
    found: list[int | None] = []
    for claim in home["open_claims"]:
        due_ms = instant_ms(claim["deadline_at"])
        found += [due_ms, instant_ms(claim["grace_ends_at"])]
        if due_ms is not None:
            found.append(due_ms - claim["seconds_total"] * MS // 4)
        if claim["state"] in JUDGED_NEXT:  # changes may be asked for at any moment: not later than is advised
            found.append(instant_ms(home["next_check_in_after"]))
    for review in home["pending_reviews"]:
        found += [instant_ms(review["on_time_until"]), instant_ms(review["closes_at"])]
    found += [instant_ms(dispute["respond_by"]) for dispute in home["active_disputes"]]
    found += [instant_ms(work["review_ends_at"]) for work in home["work_to_judge"]]
    return min((at for at in found if at is not None and at > now_ms), default=None)


def instant_ms(text: str | None) -> int | None:
    """Milliseconds since the epoch; None for a text that is no instant."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return int(found.timestamp()) * MS if found.tzinfo else None


def load_state(folder: Path) -> HeartbeatState:
    """The state that was saved there; the first one without a file. Raises `Refused("heartbeat_state_damaged")`."""
    path = folder / FILE_NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return _state(found)
    except FileNotFoundError:
        return HeartbeatState()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused("heartbeat_state_damaged", f"{path} is no heartbeat state: {error}") from None


def save_state(folder: Path, state: HeartbeatState) -> None:
    """Write it in the place of the one before, whole or not at all."""
    members: dict[str, Any] = asdict(state)
    at_ms = members.pop("last_heartbeat_at_ms")
    text = json.dumps({"last_heartbeat_at": rfc3339_s(at_ms) if at_ms else None, **members}, indent=2)
    write_private(folder / FILE_NAME, f"{text}\n")


def _state(found: Any) -> HeartbeatState:
    counts = {name: found[name] for name in ("consecutive_no_action_count", "consecutive_error_count")}
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError("a count is none")
    at = found["last_heartbeat_at"]
    at_ms = 0 if at is None else instant_ms(at)
    if at_ms is None:
        raise ValueError("last_heartbeat_at is no instant")
    return HeartbeatState(
        last_heartbeat_at_ms=at_ms,
        last_home_response_hash=str(found["last_home_response_hash"] or ""),
        **counts,
    )
