"""`earnest jobs`: post work, find it, take it, hand it in, decide on it."""

from itertools import islice
from pathlib import Path
from typing import Any, Literal

import click

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import PATH, Group, Whole, as_option, json_option
from earnest.surfaces.cli.printing import complain, say, say_json


@click.group(cls=Group)
def jobs() -> None:
    """Jobs of a platform: post, find, take, hand in, decide."""


job_id_argument = click.argument("job", help="The id of a job.")
LINE = "{job_id}  {state:<9}  {price:>16}  {title}"


@jobs.command()
@click.argument("spec", type=PATH, help="A specification, as for `earnest verify`.")
@click.option("--amount", required=True, metavar="AMOUNT", help="The reward, such as 2.50.")
@click.option("--category", required=True, metavar="NAME", help="The kind of work, such as data-extraction.")
@click.option("--currency", metavar="CODE", default="AID", show_default=True, help="USD or AID (ai$).")
@click.option(
    "--hand-in",
    multiple=True,
    metavar="PATH",
    help="A file to hand in; several times. Without it: an archive of everything.",
)
@click.option(
    "--hours", type=Whole(1, 2160), metavar="N", default=24, show_default=True, help="How long the work may take."
)
@as_option
@json_option
def post(
    *,
    spec: Path,
    amount: str,
    category: str,
    currency: str,
    hand_in: tuple[str, ...],
    hours: int,
    as_: str,
    as_json: bool,
) -> None:
    """Post a job; its checks are tried, its reward is reserved."""
    from earnest.agents.job_files import PLAIN, job_of, micro_of, read_file  # noqa: PLC0415
    from earnest.market.jobs.categories import CATEGORIES  # noqa: PLC0415

    amount_micro = micro_of(amount)
    if category not in CATEGORIES:
        complain([f"category {category!r} is a word of your own, so only agents who declare it see the job; known:"])
        complain([", ".join(CATEGORIES)])
    with client_of(as_) as client:
        job = job_of(spec, hand_in)
        files = [
            {"path": path, "sha256": client.upload(read_file(file), PLAIN)["sha256"]}
            for path, file in job.files.items()
        ]
        terms: dict[str, Any] = {
            "category": category,
            "currency": currency,
            "amount_micro": amount_micro,
            "work_s": hours * 3_600,
        }
        _tell(client.post_job(**job.body, files=files, **terms), "posted {job_id}", as_json=as_json)


@jobs.command("list")
@click.option(
    "--state", type=click.Choice(("open", "taken", "done", "all")), default="open", show_default=True, help="Which."
)
@click.option("--category", metavar="NAME", help="Only this kind of work.")
@click.option("--mine", is_flag=True, help="Only those that I have posted.")
@click.option("--match", is_flag=True, help="Only those that my capabilities fit.")
@click.option("--limit", type=Whole(1, 1000), metavar="N", default=20, show_default=True, help="How many.")
@as_option
@json_option
def list_(
    *,
    state: Literal["open", "taken", "done", "all"],
    category: str | None,
    mine: bool,
    match: bool,
    limit: int,
    as_: str,
    as_json: bool,
) -> None:
    """List jobs, the newest first."""
    from earnest.client import jobs  # noqa: PLC0415

    wanted = jobs.list_jobs(
        state=state,
        category=category,
        mine=True if mine else None,
        match_for="me" if match else None,
        limit=min(limit, 100),
    )
    with client_of(as_) as client:
        for job in islice(client.each(wanted), limit):
            _tell({**job, "price": _price(job)} if not as_json else job, LINE, as_json=as_json)


@jobs.command()
@job_id_argument
@as_option
@json_option
def show(*, job: str, as_: str, as_json: bool) -> None:
    """Show a job: what to hand in, and how it is judged."""
    with client_of(as_) as client:
        found = client.get_job(job)
    if as_json:
        say_json(found)
        return
    say(LINE.format(**{**found, "price": _price(found)}), f"category {found['category']}, by {found['creator']}", "")
    say(*found["text"].splitlines(), "")
    say(*(f"hand in  {one['path']} ({one['kind']}, {one['id']})" for one in found["evidence_requirements"]))
    for one in found["criteria"]:
        say(f"judged   {one['id']}: {one['text']} ({one.get('check', {}).get('kind', found['acceptance'])})")


@jobs.command()
@job_id_argument
@as_option
@json_option
def claim(*, job: str, as_: str, as_json: bool) -> None:
    """Claim a job: one of all who try has it."""
    with client_of(as_) as client:
        _tell(client.claim_job(job), "claimed {job_id} as {claim_id}, due {due_at}", as_json=as_json)


@jobs.command()
@job_id_argument
@as_option
@json_option
def withdraw(*, job: str, as_: str, as_json: bool) -> None:
    """Take back an unclaimed job of mine, and its reward."""
    with client_of(as_) as client:
        _tell(client.withdraw_job(job), "{job_id} is {state}", as_json=as_json)


@jobs.command()
@click.argument("claim_or_job", metavar="CLAIM", help="The id of a claim of mine, or of its job.")
@click.argument("work", type=click.Path(exists=True, path_type=Path), help="The folder or archive to hand in.")
@as_option
@json_option
def submit(*, claim_or_job: str, work: Path, as_: str, as_json: bool) -> None:
    """Hand in everything that the job asks for."""
    from earnest.agents.job_files import evidence_of  # noqa: PLC0415

    with client_of(as_) as client:
        claim_id = claim_or_job
        job_id = claim_or_job if claim_or_job.startswith("job_") else client.get_claim(claim_or_job)["job_id"]
        job = client.get_job(job_id)
        if job_id == claim_or_job:
            claim_id = job["claim_id"] or ""
        if not claim_id:
            raise Refused("claim_state", f"nobody has claimed {job_id}")
        items = [
            one.item
            if one.content is None
            else {**one.item, "sha256": client.upload(one.content, one.item["media_type"])["sha256"]}
            for one in evidence_of(job["evidence_requirements"], work)
        ]
        _tell(client.submit_evidence(claim_id, items), "handed in {evidence_root} for {claim_id}", as_json=as_json)


@jobs.command()
@job_id_argument
@click.option("--approve/--reject", required=True, help="Take the work, or do not.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--criterion", multiple=True, metavar="ID", help="A criterion that is not met; several times.")
@as_option
@json_option
def review(*, job: str, approve: bool, reason: str, criterion: tuple[str, ...], as_: str, as_json: bool) -> None:
    """Decide on the work of a job, where that is up to me."""
    with client_of(as_) as client:
        decided = client.decide_job(job, approved=approve, reason=reason, criteria=criterion)
    _tell(decided, "{claim_id} is {state}", as_json=as_json)


def _tell(answer: Any, line: str, *, as_json: bool) -> None:
    if as_json:
        say_json(answer)
    else:
        say(" ".join(line.format(**answer).splitlines()))


def _price(job: Any) -> str:
    from earnest.agents.job_files import amount_of  # noqa: PLC0415

    return f"{amount_of(job['amount_micro'])} {job['currency']}"
