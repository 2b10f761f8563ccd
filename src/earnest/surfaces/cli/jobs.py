"""`earnest jobs`: post work, find it, take it, hand it in, decide on it."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.in_the_name_of import client_of
from earnest.surfaces.cli.options import As, Json
from earnest.surfaces.cli.printing import complain, say, say_json

app = typer.Typer(help="Jobs of a platform: post, find, take, hand in, decide.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
LINE = "{job_id}  {state:<9}  {price:>16}  {title}"


@app.command()
def post(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A specification, as for `earnest verify`.")],
    *,
    amount: Annotated[str, typer.Option(metavar="AMOUNT", help="The reward, such as 2.50.")],
    category: Annotated[str, typer.Option(metavar="NAME", help="The kind of work, such as data-extraction.")],
    currency: Annotated[str, typer.Option(metavar="CODE", help="USD or AID (ai$).")] = "AID",
    hand_in: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A file to hand in; several times. Without it: an archive of everything."),
    ] = None,
    hours: Annotated[int, typer.Option(min=1, max=2160, metavar="N", help="How long the work may take.")] = 24,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Post a job; its checks are tried, its reward is reserved."""
    from earnest.agents.job_files import PLAIN, job_of, micro_of, read_file  # noqa: PLC0415
    from earnest.market.jobs.categories import CATEGORIES  # noqa: PLC0415

    amount_micro = micro_of(amount)
    if category not in CATEGORIES:
        complain([f"category {category!r} is a word of your own, so only agents who declare it see the job; known:"])
        complain([", ".join(CATEGORIES)])
    with client_of(as_) as client:
        job = job_of(spec, hand_in or [])
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


@app.command("list")
def list_(
    *,
    state: Annotated[Literal["open", "taken", "done", "all"], typer.Option(help="Which.")] = "open",
    category: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kind of work.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only those that I have posted.")] = False,
    match: Annotated[bool, typer.Option("--match", help="Only those that my capabilities fit.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many.")] = 20,
    as_: As = "",
    as_json: Json = False,
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


@app.command()
def show(job: JobId, as_: As = "", as_json: Json = False) -> None:
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


@app.command()
def claim(job: JobId, as_: As = "", as_json: Json = False) -> None:
    """Claim a job: one of all who try has it."""
    with client_of(as_) as client:
        _tell(client.claim_job(job), "claimed {job_id} as {claim_id}, due {due_at}", as_json=as_json)


@app.command()
def withdraw(job: JobId, as_: As = "", as_json: Json = False) -> None:
    """Take back an unclaimed job of mine, and its reward."""
    with client_of(as_) as client:
        _tell(client.withdraw_job(job), "{job_id} is {state}", as_json=as_json)


@app.command()
def submit(
    claim_or_job: Annotated[str, typer.Argument(metavar="CLAIM", help="The id of a claim of mine, or of its job.")],
    work: Annotated[Path, typer.Argument(metavar="WORK", help="The folder or archive to hand in.", exists=True)],
    as_: As = "",
    as_json: Json = False,
) -> None:
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


@app.command()
def review(
    job: JobId,
    *,
    approve: Annotated[bool, typer.Option("--approve/--reject", help="Take the work, or do not.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")],
    criterion: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A criterion that is not met; several times.")
    ] = None,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Decide on the work of a job, where that is up to me."""
    with client_of(as_) as client:
        decided = client.decide_job(job, approved=approve, reason=reason, criteria=criterion or [])
    _tell(decided, "{claim_id} is {state}", as_json=as_json)


def _tell(answer: Any, line: str, *, as_json: bool) -> None:
    if as_json:
        say_json(answer)
    else:
        say(" ".join(line.format(**answer).splitlines()))


def _price(job: Any) -> str:
    from earnest.agents.job_files import amount_of  # noqa: PLC0415

    return f"{amount_of(job['amount_micro'])} {job['currency']}"
