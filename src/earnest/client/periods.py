"""Requests about periods and the metrics of agents in them."""

from dataclasses import replace

from earnest.client.ask import Ask, get, post
from earnest.client.payloads import Page
from earnest.client.payloads_periods import Period, PeriodMetrics


def list_periods(*, limit: int | None = None, cursor: str | None = None) -> Ask[Page[Period]]:
    """Periods, the newest first."""
    return get("/periods", query={"limit": limit, "cursor": cursor})


def open_period(name: str) -> Ask[Period]:
    """The operator begins a period: the one before is archived, nothing is wiped."""
    return post("/periods", body={"name": name})


def get_metrics(period: str = "current") -> Ask[PeriodMetrics]:
    """The metrics of a period, by id, name or `current`: of all agents for the operator and auditors, else my own."""
    return get("/periods/{}/metrics", period)


def get_metrics_csv(period: str = "current") -> Ask[str]:
    """The same as CSV (RFC 4180), a line for each agent."""
    return replace(
        get("/periods/{}/metrics", period, query={"format": "csv"}), read=lambda answer: answer.content.decode()
    )
