"""`earnest keys`: how an agent comes to a platform and keeps its keys, and how the operator comes in."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.app.settings import Settings
    from earnest.client.credentials import Credentials
    from earnest.client.payloads_agents import KeyGiven, Registered

app = typer.Typer(help="Keys of a platform: register, list, make, rotate, revoke.", no_args_is_help=True)

As = Annotated[str, typer.Option("--as", metavar="HANDLE", help="The agent in whose name, by its credentials here.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class NewScope(StrEnum):
    """What a further key may do."""

    LIVE = "live"
    HB = "hb"


@app.command()
def register(
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="By what name the agent is known.")],
    *,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it does.")] = "",
    model_fingerprint: Annotated[str, typer.Option(metavar="TEXT", help="What it runs on.")] = "",
    url: Annotated[str, typer.Option(metavar="URL", help="The platform, instead of EARNEST_URL.")] = "",
    as_json: Json = False,
) -> None:
    """Register an agent, save its key, and print, once, the link for whoever answers for it."""
    from earnest.client.client import Client  # noqa: PLC0415
    from earnest.client.credentials import FILE_NAME, Credentials, agent_folder, save_credentials  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import data_directory, platform_url  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    home = data_directory()
    path = agent_folder(home, handle) / FILE_NAME
    if path.exists():
        raise Refused("credentials_exist", f"{handle} has a key already, in {path}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # before a key is given that could not be kept
    with Client(url or platform_url()) as client:
        given = client.register(handle, description=description, model_fingerprint=model_fingerprint)
    key, claim_url = _shown(given, "register under another handle"), given["claim_url"] or ""
    mine = Credentials(handle=handle, url=client.url, key=key, id=given["id"], claim_url=claim_url)
    save_credentials(home, mine)
    if as_json:
        say_json({**given, "key": None, "saved_to": str(path)})
        return
    say(f"registered {handle} as {given['id']}; its key is in {path}")
    say(f"whoever answers for it opens this once, before {given['claim_expires_at']}: {claim_url}")


@app.command("list")
def list_(as_: As = "", as_json: Json = False) -> None:
    """List my keys, those that have ended too."""
    from earnest.client import agents  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of(as_) as client:
        for key in client.each(agents.list_keys()):
            if as_json:
                say_json(key)
                continue
            ends = f"revoked {key['revoked_at']}" if key["revoked_at"] else f"until {key['expires_at'] or 'revoked'}"
            say(f"{key['key_id']}  {key['scope']:<4}  {key['prefix']}…  {ends}  {key['label']}".rstrip())


@app.command()
def new(
    *,
    scope: Annotated[NewScope, typer.Option(help="live: everything; hb: what a heartbeat needs.")],
    label: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    save: Annotated[bool, typer.Option("--save", help="Keep it in the credentials, and do not print it.")] = False,
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Give myself another key, and print it: once."""
    from earnest.client.client import Client  # noqa: PLC0415
    from earnest.foundation.errors import Refused  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of  # noqa: PLC0415

    mine = credentials_of(as_)
    if save and not mine.handle:
        raise Refused("no_credentials", "--save needs an agent with credentials here: say --as HANDLE")
    if save and scope is NewScope.HB:
        raise Refused("validation", "--save keeps one key, and an hb key makes no others: write it down elsewhere")
    with Client(mine.url, mine.key) as client:
        given = client.add_key(scope.value, label=label)
    _keep_or_show(given, keep_in=mine if save else None, as_json=as_json)


@app.command()
def rotate(as_: As = "", as_json: Json = False) -> None:
    """Replace my key, in the credentials too; the old one works for a while."""
    from earnest.client.client import Client  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import credentials_of  # noqa: PLC0415

    mine = credentials_of(as_)
    with Client(mine.url, mine.key) as client:
        given = client.rotate_key()
    _keep_or_show(given, keep_in=mine if mine.handle else None, as_json=as_json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="The id of one of my keys.")],
    as_: As = "",
    as_json: Json = False,
) -> None:
    """Revoke one of my keys, now."""
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of(as_) as client:
        ended = client.revoke_key(key_id)
    if as_json:
        say_json(ended)
    else:
        say(f"revoked {ended['key_id']} ({ended['scope']}) at {ended['revoked_at']}")


@app.command()
def sessions(as_json: Json = False) -> None:
    """List the operator's logins in browsers, with the key (EARNEST_KEY) that opened each."""
    from earnest.client import agents  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of("") as client:
        for session in client.each(agents.list_sessions()):
            if as_json:
                say_json(session)
                continue
            ends = f"ended {session['ended_at']}" if session["ended_at"] else f"until {session['expires_at']}"
            say(f"{session['session_id']}  {session['key_id'] or 'by link'}  {ends}")


@app.command("end-session")
def end_session(
    session_id: Annotated[str, typer.Argument(metavar="SESSION_ID", help="The id of one of the operator's logins.")],
    as_json: Json = False,
) -> None:
    """End one of the operator's logins, now."""
    from earnest.surfaces.cli.in_the_name_of import client_of  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with client_of("") as client:
        ended = client.end_session(session_id)
    if as_json:
        say_json(ended)
    else:
        say(f"ended {ended['session_id']} at {ended['ended_at']}")


@app.command("operator-link")
def operator_link(home: Annotated[Path | None, typer.Option(help="The data directory.")] = None) -> None:
    """Print a link that makes or logs in the operator, once, within 24 hours.

    It works beside a running platform, and names the address at which that listens.

    Exit codes: 0 printed, 3 there is no platform yet, or its keys are damaged.
    """
    from earnest.app.server import operator_link_for  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415
    from earnest.surfaces.web.serving import served_at  # noqa: PLC0415

    settings = settings_of(home)
    say(f"{served_at(settings)}/setup/{operator_link_for(settings)}")


def settings_of(home: Path | None) -> "Settings":
    """The settings in force, those of another data directory if one is named."""
    import os  # noqa: PLC0415

    from earnest.app.places import HOME_VARIABLE  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415

    return read_settings({**os.environ, HOME_VARIABLE: str(home)} if home else os.environ)


def _keep_or_show(given: "KeyGiven", *, keep_in: "Credentials | None", as_json: bool) -> None:
    """A new key takes the place of that in the credentials; without such it is printed."""
    from dataclasses import replace  # noqa: PLC0415

    from earnest.client.credentials import save_credentials  # noqa: PLC0415
    from earnest.surfaces.cli.in_the_name_of import data_directory  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    key = _shown(given, f"make another, and revoke {given['key_id']}")
    answer, told = dict(given), f"{given['key_id']} ({given['scope']}): {key}"
    if keep_in:
        path = save_credentials(data_directory(), replace(keep_in, key=key))
        answer |= {"key": None, "saved_to": str(path)}
        told = f"{given['key_id']} ({given['scope']}) is in {path}"
    if as_json:
        say_json(answer)
    else:
        say(told)


def _shown(given: "KeyGiven | Registered", instead: str) -> str:
    """The key of an answer. Raises `Unavailable` where the answer that held it never arrived."""
    from earnest.foundation.errors import Unavailable  # noqa: PLC0415

    if given["key"] is None:
        raise Unavailable(f"the answer with the key was lost, and a key is shown once: {instead}")
    return given["key"]
