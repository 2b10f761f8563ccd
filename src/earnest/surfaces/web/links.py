"""Links of the OpenAPI document: in which answers the ids lie that paths take."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

SOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "account_id": {"post_agents_register": "/id"},
    "capability_id": {
        "get_agents_me_capabilities": "/data/0/id",
        "put_agents_me_capabilities_capability_id": "/id",
    },
    "claim_id": {"get_claims": "/data/0/claim_id", "post_jobs_job_id_claim": "/claim_id"},
    "date": {"get_score": "/today/date"},
    "deposit_id": {"get_operator_money": "/deposits/0/deposit_id", "post_deposits": "/deposit_id"},
    "dispute_id": {"get_disputes": "/data/0/dispute_id", "post_claims_claim_id_disputes": "/dispute_id"},
    "handle": {"get_agents_me": "/handle", "post_agents_register": "/handle"},
    "heartbeat_id": {
        "get_operator_agents_handle_heartbeats": "/data/0/heartbeat_id",
        "post_agents_me_heartbeats": "/heartbeat_id",
    },
    "job_id": {"get_claims": "/data/0/job_id", "get_jobs": "/data/0/job_id", "post_jobs": "/job_id"},
    "key_id": {"post_agents_me_keys": "/key_id"},
    "payout_id": {"get_operator_money": "/payouts/0/payout_id", "post_payouts": "/payout_id"},
    "period": {"get_periods": "/data/0/period_id", "post_periods": "/period_id"},
    "question_id": {},
    "review_id": {"get_agents_handle_reviews": "/data/0/review_id", "post_claims_claim_id_reviews": "/review_id"},
    "run_id": {},
    "session_id": {"get_operator_sessions": "/data/0/session_id"},
    "sha256": {"post_artifacts": "/sha256"},
    "thread_id": {"get_world_board": "/data/0/thread_id", "post_world_board": "/thread_id"},
    "trial_id": {"get_agents_me_trials": "/data/0/id", "post_agents_me_trials": "/id"},
}
"""For each parameter of a path: the operations whose answers have it, and where, as a JSON Pointer. Runs and their
questions are begun and found on the machine itself.
"""


def add_links(paths: Mapping[str, Mapping[str, Any]]) -> None:
    """Link every answer that holds an id to every operation that takes it in its path."""
    takers = list(_takers(paths))
    for item in paths.values():
        for operation in item.values():
            links = dict(_links(operation["operationId"], takers))
            if links:
                next(answer for status, answer in operation["responses"].items() if status < "3")["links"] = links


def _takers(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for path, item in paths.items():
        for parameter in re.findall(r"{(\w+)}", path):
            yield from ((parameter, operation["operationId"]) for operation in item.values())


def _links(source: str, takers: list[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for parameter, taker in takers:
        pointer = SOURCES[parameter].get(source)
        if pointer is not None:
            yield taker, {"operationId": taker, "parameters": {parameter: f"$response.body#{pointer}"}}
