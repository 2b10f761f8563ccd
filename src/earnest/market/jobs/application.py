"""Applications for jobs whose creator lets agents apply first."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One agent's application. `id` is `<job>/<account>`: one each."""

    id: str
    job_id: str
    account_id: str
    note: str
    applied_at_ms: int
