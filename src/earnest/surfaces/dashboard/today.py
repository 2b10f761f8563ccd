"""Today: what waits for whoever looks, how the agents stand, and what they cost."""

from typing import Any

from earnest.runtime.leave import open_questions
from earnest.runtime.unknown_effects import open_effect
from earnest.surfaces.dashboard.charts import score_chart, verdict_chart
from earnest.surfaces.dashboard.look import Look, Visitor
from earnest.surfaces.dashboard.runs import changes_to_apply
from earnest.surfaces.leave import question_lines
from earnest.views import overview
from earnest.views.claims import waiting_claims
from earnest.views.disputes import list_disputes
from earnest.views.receipts import newest_checkpoint
from earnest.views.records import rejected_work
from earnest.views.reviews import list_reviews
from earnest.views.runs import list_runs
from earnest.views.wallet import show_queue

SHOWN_MAX = overview.WAITING_SHOWN_MAX
LEADERS_MAX = 20
RUNS_MAX = 10
REJECTED_MAX = 10
UNFINISHED_MAX = 50


def show_today(look: Look) -> tuple[str, dict[str, Any]]:
    """The first page, for each sort of visitor."""
    if look.visitor is Visitor.AGENT:
        return _mine(look)
    if look.visitor is Visitor.STRANGER:
        return _public(look)
    reader = look.reader
    leaders = overview.leading_agents(reader, look.now_ms, look.terms, LEADERS_MAX)
    held = sorted((one for one in leaders if one.duty), key=_leading)
    waiting = _waiting(look)
    return "today.html", {
        "title": "Today",
        "waiting": waiting,
        "waiting_count": sum(len(found) for found in waiting.values()),
        "leaders": leaders,
        "held": held,
        "sums": overview.sums(reader),
        "verdicts": verdict_chart(look),
        "score": (held[0].account.handle, score_chart(look, held[0].account.id, held[0].account.handle))
        if held
        else None,
        "runs": list_runs(reader, RUNS_MAX),
        "names": _names(look, waiting),
        **_rejected(look),
    }


def _leading(view: overview.AgentView) -> tuple[int, str]:
    """Whoever has reached the greatest share of today's target leads."""
    assert view.duty is not None
    return -view.duty.day.score * 1_000_000 // view.duty.day.target, view.account.handle


def _waiting(look: Look) -> dict[str, Any]:
    """What a person must decide, by its sort; empty sorts are there too."""
    reader = look.reader
    money = show_queue(reader, SHOWN_MAX)
    unfinished = [one for one in list_runs(reader, UNFINISHED_MAX) if one.result is None]
    effects = [asked for one in unfinished if (asked := open_effect(reader, one.run_id))]
    leave = [asked for one in unfinished for asked in open_questions(reader, one.run_id, look.now_ms)]
    asked_of = {one.run_id for one in effects} | {one.run_id for one in leave}
    return {
        "claims": waiting_claims(reader, "", SHOWN_MAX),
        "heartbeats": overview.heartbeats_to_decide(reader),
        "disputes": list_disputes(reader, look.my_id, sees_all=True, waiting=True, after="", limit=SHOWN_MAX),
        "contracts": overview.offered_contracts(reader),
        "deposits": money["deposits"],
        "payouts": money["payouts"],
        "reviews": list_reviews(reader, limit=SHOWN_MAX),
        "effects": effects,
        "leave": [(one, question_lines(one.asked)) for one in leave],
        "changes": changes_to_apply(look),
        "runs": [one for one in unfinished if one.run_id not in asked_of],
    }


def _names(look: Look, waiting: dict[str, Any]) -> dict[str, str]:
    ids = [one[side] for one in waiting["claims"] for side in ("seller", "buyer")]
    ids += [one[side] for one in waiting["disputes"] for side in ("raiser", "respondent")]
    ids += [one["account_id"] for sort in ("heartbeats", "deposits", "payouts") for one in waiting[sort]]
    ids += [one.account_id for one in waiting["contracts"]]
    return overview.handles(look.reader, ids)


def _mine(look: Look) -> tuple[str, dict[str, Any]]:
    view = overview.agent_view(look.reader, look.my_id, look.now_ms, look.terms)
    return "today_agent.html", {
        "title": "Today",
        "view": view,
        "home": view.home.body,
        "score": score_chart(look, look.my_id, view.account.handle),
    }


def _public(look: Look) -> tuple[str, dict[str, Any]]:
    return "public.html", {
        "title": "Who keeps their word",
        "leaders": overview.public_leaders(look.reader, look.now_ms, LEADERS_MAX),
        "checkpoint": newest_checkpoint(look.reader),
        **_rejected(look),
    }


def _rejected(look: Look) -> dict[str, Any]:
    """Work that was said to be done and was not, with who said so."""
    found = rejected_work(look.reader, REJECTED_MAX)
    return {"rejected": found, "sellers": overview.handles(look.reader, [one.claim.seller for one in found])}
