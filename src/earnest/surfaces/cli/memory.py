"""`earnest memory`: what was learnt, how to add to it, how to have it forgotten. `earnest dream`: put it in order."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from earnest.foundation.errors import Refused
from earnest.foundation.instants import rfc3339
from earnest.surfaces.cli.here import act, finish, settings_of
from earnest.surfaces.cli.options import Group, Whole, json_lines_option, one_json_option
from earnest.surfaces.cli.printing import present, say, say_json

if TYPE_CHECKING:
    from earnest.memory.megram import Megram


@click.group(cls=Group)
def memory() -> None:
    """Look at what was learnt from earlier runs, and add to it."""


@memory.command()
@click.argument("space", required=False, help="Only this space, such as approach:TASK_CLASS/SUBTASK.")
@click.option("--limit", type=Whole(1, 1000), metavar="N", default=50, show_default=True, help="How many entries.")
@json_lines_option
def show(*, space: str | None, limit: int, as_json: bool) -> None:
    """List what is remembered."""
    from earnest.app.readers import reading_memory  # noqa: PLC0415

    with reading_memory(settings_of()) as memory:
        entries = memory.entries(space, limit=limit)
    for megram in entries:
        present(asdict(megram), *_lines(megram), as_json=as_json)
    if not entries and not as_json:
        say(f"nothing is remembered under {space}" if space else "nothing is remembered yet")


@memory.command()
@click.argument("space", help="Such as intent:TASK_CLASS or approach:TASK_CLASS/SUBTASK.")
@click.argument("entity", default="env:local", help="Such as env:local or approach:APPROACH.  [default: env:local]")
@one_json_option
def query(*, space: str, entity: str, as_json: bool) -> None:
    """Ask what memory advises: exploit, avoid, caution or ignore."""
    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415

    _check_tags(space, entity)
    with reading_memory(settings_of()) as memory:
        found = memory.query_mk(space, entity, SystemClock().now_ms())
    present(
        {"attention": found.attention, "decision": found.decision, "action": found.action},
        f"{found.action}  (attention {found.attention:.3f}, decision {found.decision:+.3f})",
        as_json=as_json,
    )


@memory.command()
@click.argument("text", help="A rule, in a sentence.")
@click.option("--tag", metavar="SPACE", help="For this space only, such as intent:TASK_CLASS.")
@click.option("--avoid", is_flag=True, help="It says what must not be done.")
def remember(*, text: str, tag: str | None, avoid: bool) -> None:
    """Have a rule remembered for good, by default for every task."""
    from earnest.memory.megram import LOCAL, NOTES, Tag  # noqa: PLC0415

    if tag is not None:
        _check_tags(tag)
    place = NOTES if tag is None else Tag(space=tag, entity=LOCAL)
    say(f"remembered: {act(lambda platform: platform.remembering.remember(text, tag=place, avoid=avoid))}")


@memory.command()
@one_json_option
def rebuild(*, as_json: bool) -> None:
    """Rebuild memory from the facts.

    Exit codes: 0 made, 3 there are no facts, or another process uses the data directory.
    """
    from earnest.app.home_check import rebuilt  # noqa: PLC0415

    count = finish(rebuilt(settings_of()))
    present({"entries": count}, f"made anew from the facts: {count} entries", as_json=as_json)


@memory.command()
@click.argument("megram_id", metavar="ID", help="An entry's id, from `earnest memory show`.")
def forget(*, megram_id: str) -> None:
    """Forget one entry for good."""
    from earnest.app.readers import reading_memory  # noqa: PLC0415

    with reading_memory(settings_of()):
        pass  # where nothing was remembered, nothing is created either
    act(lambda platform: platform.remembering.forget(megram_id))
    say(f"forgotten: {megram_id}")


@memory.group()
def persona() -> None:
    """The Four Laws, and the persona that a person approved."""


@persona.command("show")
@one_json_option
def show_persona(*, as_json: bool) -> None:
    """Show the laws, which nobody changes, and the persona."""
    from earnest.app.readers import proposed_persona, reading_memory  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415
    from earnest.memory.thinking import LAWS, PERSONA_ID  # noqa: PLC0415

    approved, proposed = None, ""
    try:
        with reading_memory(settings_of()) as memory:
            approved, proposed = memory.get(PERSONA_ID), proposed_persona(memory, SystemClock().now_ms())
    except Refused as refusal:
        if refusal.code != "memory_missing":
            raise
    if as_json:
        told = approved and {"text": approved.content, "by": approved.agent, "at_ms": approved.created_at_ms}
        say_json({"laws": LAWS, "persona": told, "proposed": proposed or None})
        return
    say(*(f"Law {number}  {law}" for number, law in enumerate(LAWS)))
    if approved is None:
        say("no persona was approved")
    else:
        say(f"persona, approved by {approved.agent} at {rfc3339(approved.created_at_ms)}:")
        say(*(f"  {line}" for line in approved.content.splitlines()))
    if proposed:
        say("proposed, by rules that held; it waits for a person (`earnest memory persona set --proposed --by NAME`):")
        say(*(f"  {line}" for line in proposed.splitlines()))


@persona.command("set")
@click.option("--by", required=True, metavar="NAME", help="The person who approves it.")
@click.argument("text", default="", help="Who the agent is to be.")
@click.option("--proposed", is_flag=True, help="The one that `show` proposes.")
def set_persona(*, by: str, text: str, proposed: bool) -> None:
    """Approve a persona in the place of the one before."""
    from earnest.app.readers import proposed_persona, reading_memory  # noqa: PLC0415
    from earnest.effects.ground.clock import SystemClock  # noqa: PLC0415

    if text and proposed:
        raise click.BadParameter("give a text or --proposed, not both")
    if proposed:
        with reading_memory(settings_of()) as memory:
            text = proposed_persona(memory, SystemClock().now_ms())
    act(lambda platform: platform.remembering.approve_persona(text, by))
    say(f"persona approved by {by}")


@click.command()
@click.option("--now", is_flag=True, help="Dream one cycle now.")
@one_json_option
def dream(*, now: bool, as_json: bool) -> None:
    """Let memory forget, make rules, and drop refuted ones."""
    if not now:
        raise click.BadParameter("memory dreams by itself beside every run; --now dreams one cycle now")
    done = act(lambda platform: platform.dreaming.cycle())
    if as_json:
        say_json(asdict(done))
        return
    for revision in done.revisions:
        say(f"{revision.why}: {len(revision.forget)} entries gone, {len(revision.remember)} new")
        for megram in revision.remember:
            say(f"  {megram.level}  {megram.id}  {megram.space} · {megram.entity}", f"     {megram.content}")
    say(f"forgotten: {len(done.forgotten)}" if done.forgotten or done.revisions else "nothing to do")


def _check_tags(*tags: str) -> None:
    for tag in tags:
        if not all(tag.partition(":")):
            raise click.BadParameter(f"{tag!r} must have the form kind:name, such as intent:python_inventory")


def _lines(megram: "Megram") -> list[str]:
    return [
        megram.id,
        f"  {megram.level}  {rfc3339(megram.created_at_ms)}  {megram.state}  {megram.space} · {megram.entity}",
        f"  {megram.content}",
    ]
