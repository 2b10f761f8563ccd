"""Jobs and claims: the board, one job, a claim and its record for anybody, evidence, a dispute, a new job's form."""

import difflib
import json
from typing import Any, Final, cast

from earnest.client.payloads import Claim
from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339_s
from earnest.market.claims.claim import TERMINAL, ClaimState
from earnest.market.jobs.categories import CATEGORIES
from earnest.market.jobs.job import JobState
from earnest.runtime.market.artifacts import find_readable
from earnest.surfaces.dashboard.look import Look
from earnest.surfaces.web.requests import after, cursor_of
from earnest.views.claims import find_claim, reviews_of_claim, show_claim
from earnest.views.disputes import show_dispute
from earnest.views.jobs import JobsWanted, list_jobs, show_job
from earnest.views.overview import handles, newest_claim
from earnest.views.receipts import claim_draft, newest_checkpoint
from earnest.views.records import cost_of
from earnest.views.wallet import moved_for

PAGE: Final = 50
STATES: Final = {"all": tuple(JobState), "open": (JobState.OPEN,), "taken": (JobState.TAKEN,), "done": (JobState.DONE,)}
TEXT_BYTES_MAX: Final = 256 * 1024
"""Of an item of evidence, what is shown as text; the rest is in the file itself."""
SHOWN_BYTES_MAX: Final = 4 * 1024 * 1024
"""A larger item is not read for a page."""
DIFF_LINES_MAX: Final = 2_000
BROKEN_STATES: Final = frozenset({ClaimState.REFUNDED, ClaimState.EXPIRED})
PAID: Final = "released"
"""The reason of the transfer that pays a seller."""
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def show_board(look: Look) -> tuple[str, dict[str, Any]]:
    """Jobs, the newest first, by state, category and what is mine."""
    state = look.query.get("state", "all")
    wanted = {
        "state": state if state in STATES else "all",
        "category": look.query.get("category", "")[:64],
        "currency": look.query.get("currency", "")[:3],
        "mine": "1" if look.my_id and look.query.get("mine") else "",
    }
    found = list_jobs(
        look.reader,
        JobsWanted(
            states=STATES[wanted["state"]],
            category=wanted["category"],
            currency=wanted["currency"],
            creator=look.my_id if wanted["mine"] else "",
            after=after(look.query.get("cursor", "")[:200]),
            limit=PAGE + 1,
        ),
    )
    shown = found[:PAGE]
    return "board.html", {
        "title": "Jobs",
        "wanted": wanted,
        "states": list(STATES),
        "jobs": shown,
        "next_cursor": cursor_of(str(shown[-1]["job_id"])) if len(found) > PAGE else "",
        "categories": sorted(CATEGORIES),
        "currencies": list(look.terms.currencies),
        "names": handles(look.reader, [str(one["creator"]) for one in shown]),
    }


def show_form(look: Look) -> tuple[str, dict[str, Any]]:
    """What a job is posted with. Raises `Refused`: `missing_key`, `scope_forbidden`."""
    look.need_login()
    if not look.acts:
        raise Refused("scope_forbidden", "whoever only looks posts no jobs")
    return "job_form.html", {
        "title": "Post a job",
        "categories": sorted(CATEGORIES),
        "currencies": list(look.terms.currencies),
    }


def show_job_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One job, and its newest claim for whoever may see that."""
    job = show_job(look.reader, look.params["job_id"], look.my_id)
    claim_id = job["claim_id"] or (newest_claim(look.reader, str(job["job_id"])) if look.sees_all else None)
    return "job.html", {
        "title": job["title"],
        "job": job,
        "claim": _claim(look, str(claim_id)) if claim_id else None,
        "names": handles(look.reader, [str(job["creator"])]),
        "is_mine": bool(look.my_id) and job["creator"] == look.my_id,
    }


def show_claim_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One claim: its time line, what was handed in, the verdict of each criterion, what can be done about it."""
    look.need_login()
    claim = _claim(look, look.params["claim_id"])
    job = show_job(look.reader, str(claim["job_id"]), look.my_id)
    reviews = reviews_of_claim(look.reader, str(claim["claim_id"]), look.my_id, look.terms, sees_all=look.sees_all)
    return "claim.html", {
        "title": claim["job_title"],
        "claim": claim,
        "job": job,
        "line": _time_line(claim),
        "now_text": rfc3339_s(look.now_ms),
        "has_ended": claim["state"] in TERMINAL,
        "moved": moved_for(look.reader, str(claim["claim_id"])),
        "reviews": reviews,
        "criteria": {one["id"]: one for one in job["criteria"]},
        "names": handles(look.reader, [str(claim["seller"]), str(claim["buyer"])]),
        "side": "seller" if claim["seller"] == look.my_id else "buyer" if claim["buyer"] == look.my_id else "",
    }


def show_record(look: Look) -> tuple[str, dict[str, Any]]:
    """What the receipt of a claim says. Raises `Refused`: `not_found`, `not_a_party`, `not_ended`."""
    claim_id = look.params["claim_id"]
    draft = claim_draft(look.reader, claim_id, look.my_id, sees_all=look.sees_all)
    claim = find_claim(look.reader, claim_id, "", sees_all=True)
    told = cast("dict[str, Any]", draft.predicate)
    return "record.html", {
        "title": told["promise"]["title"],
        "told": told,
        "judged": [one for one in told["verdicts"] if one["verdict"]][::-1],
        "criteria": {one["id"]: one for one in told["criteria"]},
        "cost": cost_of(look.reader, claim) if claim.state in BROKEN_STATES else None,
        "paid_micro": sum(one["amount_micro"] for one in told["consequences"]["transfers"] if one["reason"] == PAID),
        "names": handles(look.reader, [claim.seller, claim.buyer]),
        "seqs": draft.seqs,
        "checkpoint": newest_checkpoint(look.reader),
        "is_party": look.sees_all or look.my_id in {claim.seller, claim.buyer},
    }


def show_evidence(look: Look) -> tuple[str, dict[str, Any]]:
    """One item of evidence as what it is: text, JSON, an image, a log; and how it differs from the revision before."""
    look.need_login()
    claim = _claim(look, look.params["claim_id"])
    item, earlier = _item(claim, look.params["revision"], look.params["number"])
    data = _bytes(look, item)
    before = _bytes(look, earlier) if earlier is not None and earlier["sha256"] != item["sha256"] else None
    return "evidence.html", {
        "title": f"{item['path']}, revision {look.params['revision']}",
        "claim": claim,
        "item": item,
        "revision": look.params["revision"],
        "is_image": item["media_type"] in IMAGES,
        "text": None if data is None else _text(data, str(item["media_type"])),
        "is_cut": data is not None and len(data) > TEXT_BYTES_MAX,
        "diff": _diff(before, data) if before is not None and data is not None else "",
    }


def show_dispute_page(look: Look) -> tuple[str, dict[str, Any]]:
    """One case with all that was said."""
    look.need_login()
    case = show_dispute(look.reader, look.params["dispute_id"], look.my_id, sees_all=look.sees_all)
    claim = _claim(look, str(case["claim_id"]))
    return "dispute.html", {
        "title": f"Dispute about {claim['job_title']}",
        "case": case,
        "claim": claim,
        "names": handles(look.reader, [str(case[side]) for side in ("raiser", "respondent")]),
    }


def _claim(look: Look, claim_id: str) -> Claim:
    return show_claim(look.reader, claim_id, look.my_id, sees_all=look.sees_all, sees_measured=look.is_operator)


def _time_line(claim: Claim) -> list[tuple[str, str]]:
    """What happened to a claim and what is to come, in order of time: word and instant. The end is the last."""
    words = {
        "claimed_at": "claimed",
        "submitted_at": "handed in",
        "due_at": "due",
        "grace_ends_at": "grace ends",
        "revise_by": "revise by",
        "review_ends_at": "review ends",
        "appeal_ends_at": "dispute until",
        "ended_at": str(claim["state"]),
    }
    instants = cast("dict[str, str | None]", claim)
    found = [(word, instant) for name, word in words.items() if (instant := instants[name]) is not None]
    last = claim["ended_at"] or max(instant for _, instant in found)
    return sorted((one for one in found if one[1] <= last), key=lambda one: one[1])


def _item(claim: Claim, revision: str, number: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    submissions = cast("list[dict[str, Any]]", claim["submissions"])
    by_revision = {str(one["revision"]): one["items"] for one in submissions}
    try:
        item = by_revision[revision][int(number)] if number.isdecimal() and len(number) < 4 else None
    except (KeyError, IndexError):
        item = None
    if item is None:
        raise Refused("not_found", "there is no such evidence")
    earlier = by_revision.get(str(int(revision) - 1), [])
    return item, next((one for one in earlier if one["requirement_id"] == item["requirement_id"]), None)


def _bytes(look: Look, item: dict[str, Any]) -> bytes | None:
    """None for what is not shown here: it is too large, or there is no store."""
    if look.artifacts is None or look.caller is None or item["bytes"] > SHOWN_BYTES_MAX:
        return None
    return look.artifacts.read(find_readable(look.reader, look.caller, item["sha256"]).sha256)


def _text(data: bytes, media_type: str) -> str | None:
    """None for what is no text."""
    try:
        text = data[:TEXT_BYTES_MAX].decode()
    except UnicodeDecodeError as error:
        if len(data) <= TEXT_BYTES_MAX or error.start < TEXT_BYTES_MAX - 4:
            return None
        text = data[: error.start].decode()
    if "\0" in text:
        return None
    if media_type == "application/json" and len(data) <= TEXT_BYTES_MAX:
        try:
            return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        except ValueError:
            return text
    return text


def _diff(before: bytes, after: bytes) -> str:
    one, other = (_text(data, "text/plain") for data in (before, after))
    if one is None or other is None:
        return ""
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), "before", "now", lineterm="")
    return "\n".join(line for line, _ in zip(lines, range(DIFF_LINES_MAX), strict=False))
