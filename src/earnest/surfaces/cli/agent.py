"""`earnest agent`: a resident agent, and what it asks of the person who answers for it."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from earnest.foundation.errors import Refused
from earnest.surfaces.cli.here import finish, settings_of
from earnest.surfaces.cli.in_the_name_of import client_of, credentials_of
from earnest.surfaces.cli.options import PATH, Group, Whole, as_option, json_option
from earnest.surfaces.cli.printing import present, say, say_json


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
@click.option("--role", metavar="ROLE", default="", help="proposer, executor or both.")
@click.option("--exec", "command", metavar="CMD", default="", help="The program that works the jobs.")
@click.option(
    "--folder", type=PATH, metavar="DIR", default=Path(), show_default=True, help="Where agent.toml lies; here."
)
@click.option("--every", type=Whole(1, 86_400), metavar="SECONDS", help="How often it looks; as advised.")
@click.option("--timeout", type=Whole(1, 86_400), metavar="SECONDS", help="How long the program may take.")
@click.option("--once", is_flag=True, help="One look and what follows from it, then end.")
@click.option("--pass-key", is_flag=True, help="Give the program EARNEST_URL and EARNEST_KEY.")
@as_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each cycle.")
def agent(
    context: click.Context,
    *,
    role: str,
    command: str,
    folder: Path,
    every: int | None,
    timeout: int | None,
    once: bool,
    pass_key: bool,
    as_: str,
    as_json: bool,
) -> None:
    """A resident agent: it looks for work, does it, hands it in."""
    if context.invoked_subcommand is not None:
        return
    from earnest.app.agent_settings import read_agent_settings  # noqa: PLC0415
    from earnest.app.residing import Residing, role_of  # noqa: PLC0415
    from earnest.surfaces.cli.cycling import RENEWED, run_agent  # noqa: PLC0415

    given: dict[str, Any] = {"exec": command, "every_s": every, "timeout_s": timeout}
    given["role"] = role_of(role) if role else None
    settings = replace(read_agent_settings(folder), **{name: value for name, value in given.items() if value})
    renewed = os.environ.pop(RENEWED, "")
    residing = Residing(
        home=settings_of().home,
        credentials=credentials_of(as_),
        agent=settings,
        folder=folder,
        passes_key=pass_key,
        renewed_ms=int(renewed) if renewed else None,
    )
    raise click.exceptions.Exit(finish(run_agent(residing, once=once, as_json=as_json)))


@agent.command()
@click.argument("folder", type=PATH, metavar="NAME", help="The new folder; its name is the agent's.")
@json_option
def init(*, folder: Path, as_json: bool) -> None:
    """Make a working folder: HEARTBEAT.md, agent.toml, a program, a backlog.

    Exit codes: 0 made, 3 there is something already.
    """
    from earnest.app.agent_settings import init_agent  # noqa: PLC0415

    made = [str(path) for path in init_agent(folder)]
    present({"files": made}, *made, "", f"cd {folder} && earnest agent", as_json=as_json)


@agent.command()
@as_option
@json_option
def status(*, as_: str, as_json: bool) -> None:
    """Show what the agent did last, what fails, and when it looks again.

    Exit codes: 0 well, 1 something does not work, 3 it has never run.
    """
    from earnest.runtime.agents.health import read_health  # noqa: PLC0415

    found: Any = read_health(_state(as_))
    if as_json:
        say_json(found)
    else:
        say(f"{found['status']}  {found['role']}, at {found['at']}, looks again at {found['next_at']}")
        say(*([f"  {found['last_action']}: {found['last_result']}"] if found["last_action"] else []))
        say(*(f"  ! {part}: {what}" for part, what in found["faults"].items()))
    raise click.exceptions.Exit(1 if found["faults"] else 0)


@agent.command()
@as_option
@json_option
def questions(*, as_: str, as_json: bool) -> None:
    """Show the agent's unanswered questions, the newest first."""
    from earnest.agents.book import JsonLinesBook  # noqa: PLC0415

    book = JsonLinesBook(_state(as_))
    answered = {row["about"] for row in book.rows("answer")}
    for row in book.rows("question"):
        if row["about"] not in answered:
            present(
                {"about": row["about"], "question": row["text"], "at_ms": row["at_ms"]},
                f"{row['about']}  {row['text']}",
                as_json=as_json,
            )


@agent.command()
@click.argument("about", help="What the question is about, as `questions` shows it.")
@click.argument("text", help="approve, or reject and why; or other words.")
@as_option
def answer(*, about: str, text: str, as_: str) -> None:
    """Answer a question of the agent; it reads the answer at its next look.

    Exit codes: 0 answered, 3 there is no such question, or it was answered.
    """
    from earnest.agents.book import JsonLinesBook  # noqa: PLC0415

    book = JsonLinesBook(_state(as_))
    if not any(row["about"] == about for row in book.rows("question")):
        raise Refused("question_unknown", f"the agent has no question about {about[:80]!r}")
    if not book.add("answer", f"a/{about}", about=about, text=text[:2_000]):
        raise Refused("question_unknown", f"the question about {about[:80]!r} was answered already")
    say(f"answered {about}")


def _state(handle: str) -> Path:
    """The folder of the agent's own state; whose a mere key is, the platform is asked."""
    from earnest.app.residing import RESIDENT  # noqa: PLC0415
    from earnest.client.credentials import agent_folder  # noqa: PLC0415

    name = handle or credentials_of("").handle
    if not name:
        with client_of("") as client:
            name = client.get_me()["handle"]
    return agent_folder(settings_of().home, name) / RESIDENT
