"""`earnest memory`: what was learnt, and how to have it forgotten."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.memory.megram import Megram

app = typer.Typer(help="Look at what was learnt from earlier runs.", no_args_is_help=True)


@app.command()
def show(
    space: Annotated[
        str | None, typer.Argument(metavar="SPACE", help="Only this space, such as approach:TASK_CLASS/SUBTASK.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many entries.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """List what is remembered."""
    from dataclasses import asdict  # noqa: PLC0415

    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    with reading_memory(read_settings()) as memory:
        entries = memory.entries(space, limit=limit)
    for megram in entries:
        if as_json:
            say_json(asdict(megram))
        else:
            say(*_lines(megram))
    if not entries and not as_json:
        say(f"nothing is remembered under {space}" if space else "nothing is remembered yet")


@app.command()
def query(
    space: Annotated[
        str, typer.Argument(metavar="SPACE", help="Such as intent:TASK_CLASS or approach:TASK_CLASS/SUBTASK.")
    ],
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="Such as env:local or approach:APPROACH.")
    ] = "env:local",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask what memory advises: exploit, avoid, caution or ignore."""
    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.effects.clock import SystemClock  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    for tag in (space, entity):
        if not all(tag.partition(":")):
            raise typer.BadParameter(f"{tag!r} must have the form kind:name, such as intent:python_inventory")
    with reading_memory(read_settings()) as memory:
        found = memory.query_mk(space, entity, SystemClock().now_ms())
    if as_json:
        say_json({"attention": found.attention, "decision": found.decision, "action": found.action})
    else:
        say(f"{found.action}  (attention {found.attention:.3f}, decision {found.decision:+.3f})")


@app.command()
def forget(
    megram_id: Annotated[str, typer.Argument(metavar="ID", help="An entry's id, from `earnest memory show`.")],
) -> None:
    """Forget one entry for good."""
    import asyncio  # noqa: PLC0415

    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say  # noqa: PLC0415

    settings = read_settings()
    with reading_memory(settings):
        pass  # where nothing was remembered, nothing is created either

    async def work() -> None:
        async with open_platform(settings) as platform:
            await platform.forgetting.forget(megram_id)

    asyncio.run(work())
    say(f"forgotten: {megram_id}")


def _lines(megram: "Megram") -> list[str]:
    from earnest.foundation.instants import rfc3339  # noqa: PLC0415

    return [
        megram.id,
        f"  {megram.level}  {rfc3339(megram.created_at_ms)}  {megram.state}  {megram.space} · {megram.entity}",
        f"  {megram.content}",
    ]
