"""`earnest keys`: how an agent comes to a platform and keeps its keys, and how the operator comes in."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from earnest.foundation.errors import Refused, Unavailable
from earnest.surfaces.cli.here import settings_of
from earnest.surfaces.cli.in_the_name_of import client_of, credentials_of, platform_url
from earnest.surfaces.cli.options import Group, as_option, home_option, json_option
from earnest.surfaces.cli.printing import present, say

if TYPE_CHECKING:
    from earnest.client.credentials import Credentials
    from earnest.client.payloads_agents import KeyGiven, Registered


@click.group(cls=Group)
def keys() -> None:
    """Keys of a platform: register, list, make, rotate, revoke."""


@keys.command()
@click.argument("handle", help="By what name the agent is known.")
@click.option("--description", metavar="TEXT", default="", help="What it does.")
@click.option("--model-fingerprint", metavar="TEXT", default="", help="What it runs on.")
@click.option("--url", metavar="URL", default="", help="The platform, instead of EARNEST_URL.")
@json_option
def register(*, handle: str, description: str, model_fingerprint: str, url: str, as_json: bool) -> None:
    """Register an agent, save its key, and print, once, the link for whoever answers for it."""
    from earnest.client.client import Client  # noqa: PLC0415
    from earnest.client.credentials import FILE_NAME, Credentials, agent_folder, save_credentials  # noqa: PLC0415

    home = settings_of().home
    path = agent_folder(home, handle) / FILE_NAME
    if path.exists():
        raise Refused("credentials_exist", f"{handle} has a key already, in {path}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # before a key is given that could not be kept
    with Client(url or platform_url()) as client:
        given = client.register(handle, description=description, model_fingerprint=model_fingerprint)
    key, claim_url = _shown(given, "register under another handle"), given["claim_url"] or ""
    mine = Credentials(handle=handle, url=client.url, key=key, id=given["id"], claim_url=claim_url)
    save_credentials(home, mine)
    present(
        {**given, "key": None, "saved_to": str(path)},
        f"registered {handle} as {given['id']}; its key is in {path}",
        f"whoever answers for it opens this once, before {given['claim_expires_at']}: {claim_url}",
        as_json=as_json,
    )


@keys.command("list")
@as_option
@json_option
def list_(*, as_: str, as_json: bool) -> None:
    """List my keys, those that have ended too."""
    from earnest.client import agents  # noqa: PLC0415

    with client_of(as_) as client:
        for key in client.each(agents.list_keys()):
            ends = f"revoked {key['revoked_at']}" if key["revoked_at"] else f"until {key['expires_at'] or 'revoked'}"
            line = f"{key['key_id']}  {key['scope']:<4}  {key['prefix']}…  {ends}  {key['label']}".rstrip()
            present(key, line, as_json=as_json)


@keys.command()
@click.option(
    "--scope", required=True, type=click.Choice(("live", "hb")), help="live: everything; hb: what a heartbeat needs."
)
@click.option("--label", metavar="TEXT", default="", help="What it is for.")
@click.option("--save", is_flag=True, help="Keep it in the credentials, and do not print it.")
@as_option
@json_option
def new(*, scope: Literal["live", "hb"], label: str, save: bool, as_: str, as_json: bool) -> None:
    """Give myself another key, and print it: once."""
    from earnest.client.client import Client  # noqa: PLC0415

    mine = credentials_of(as_)
    if save and not mine.handle:
        raise Refused("no_credentials", "--save needs an agent with credentials here: say --as HANDLE")
    if save and scope == "hb":
        raise Refused("validation", "--save keeps one key, and an hb key makes no others: write it down elsewhere")
    with Client(mine.url, mine.key) as client:
        given = client.add_key(scope, label=label)
    _keep_or_show(given, keep_in=mine if save else None, as_json=as_json)


@keys.command()
@as_option
@json_option
def rotate(*, as_: str, as_json: bool) -> None:
    """Replace my key, in the credentials too; the old one works for a while."""
    from earnest.client.client import Client  # noqa: PLC0415

    mine = credentials_of(as_)
    with Client(mine.url, mine.key) as client:
        given = client.rotate_key()
    _keep_or_show(given, keep_in=mine if mine.handle else None, as_json=as_json)


@keys.command()
@click.argument("key_id", help="The id of one of my keys.")
@as_option
@json_option
def revoke(*, key_id: str, as_: str, as_json: bool) -> None:
    """Revoke one of my keys, now."""
    with client_of(as_) as client:
        ended = client.revoke_key(key_id)
    present(ended, f"revoked {ended['key_id']} ({ended['scope']}) at {ended['revoked_at']}", as_json=as_json)


@keys.command()
@json_option
def sessions(*, as_json: bool) -> None:
    """List the operator's logins in browsers, with the key (EARNEST_KEY) that opened each."""
    from earnest.client import agents  # noqa: PLC0415

    with client_of("") as client:
        for session in client.each(agents.list_sessions()):
            ends = f"ended {session['ended_at']}" if session["ended_at"] else f"until {session['expires_at']}"
            line = f"{session['session_id']}  {session['key_id'] or 'by link'}  {ends}"
            present(session, line, as_json=as_json)


@keys.command("end-session")
@click.argument("session_id", help="The id of one of the operator's logins.")
@json_option
def end_session(*, session_id: str, as_json: bool) -> None:
    """End one of the operator's logins, now."""
    with client_of("") as client:
        ended = client.end_session(session_id)
    present(ended, f"ended {ended['session_id']} at {ended['ended_at']}", as_json=as_json)


@keys.command("operator-link")
@home_option
def operator_link(*, home: Path | None) -> None:
    """Print a link that makes or logs in the operator, once, within 24 hours.

    It works beside a running platform, and names the address at which that listens.

    Exit codes: 0 printed, 3 there is no platform yet, or its keys are damaged.
    """
    from earnest.app.server import operator_link_for  # noqa: PLC0415
    from earnest.surfaces.web.serving import served_at  # noqa: PLC0415

    settings = settings_of(home)
    say(f"{served_at(settings)}/setup/{operator_link_for(settings)}")


def _keep_or_show(given: "KeyGiven", *, keep_in: "Credentials | None", as_json: bool) -> None:
    """A new key takes the place of that in the credentials; without such it is printed."""
    from earnest.client.credentials import save_credentials  # noqa: PLC0415

    key = _shown(given, f"make another, and revoke {given['key_id']}")
    answer, told = dict(given), f"{given['key_id']} ({given['scope']}): {key}"
    if keep_in:
        path = save_credentials(settings_of().home, replace(keep_in, key=key))
        answer |= {"key": None, "saved_to": str(path)}
        told = f"{given['key_id']} ({given['scope']}) is in {path}"
    present(answer, told, as_json=as_json)


def _shown(given: "KeyGiven | Registered", instead: str) -> str:
    """The key of an answer. Raises `Unavailable` where the answer that held it never arrived."""
    if given["key"] is None:
        raise Unavailable(f"the answer with the key was lost, and a key is shown once: {instead}")
    return given["key"]
