"""`earnest memory`: what was learned, and how to make it forgotten."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from earnest.memory.megram import Megram

app = typer.Typer(help="What was learned from earlier runs.", no_args_is_help=True)


@app.command()
def show(
    space: Annotated[str | None, typer.Argument(help="Only this space, as `approach:task_class/subtask`.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many entries.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List what is remembered."""
    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415

    with reading_memory(read_settings()) as memory:
        for megram in memory.entries(space, limit=limit):
            typer.echo(_line(megram, as_json))


@app.command()
def query(
    space: Annotated[str, typer.Argument(help="As `intent:python_inventory`.")],
    entity: Annotated[str, typer.Argument(help="As `env:local` or `approach:wc`.")] = "env:local",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask what memory advises for a pair of tags: ignore, exploit, avoid or caution."""
    import json  # noqa: PLC0415

    from earnest.app.readers import reading_memory  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.effects.clock import SystemClock  # noqa: PLC0415

    with reading_memory(read_settings()) as memory:
        found = memory.query_mk(space, entity, SystemClock().now_ms())
    if as_json:
        form = {"attention": found.attention, "decision": found.decision, "action": found.action}
        typer.echo(json.dumps(form))
    else:
        typer.echo(f"{found.action}  (attention {found.attention:.3f}, decision {found.decision:+.3f})")


@app.command()
def forget(
    megram_id: Annotated[str, typer.Argument(metavar="ID", help="An entry's id, from `earnest memory show`.")],
) -> None:
    """Forget one entry for good."""
    import asyncio  # noqa: PLC0415

    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415

    async def work() -> None:
        async with open_platform(read_settings()) as platform:
            await platform.forgetting.forget(megram_id)

    asyncio.run(work())
    typer.echo(f"forgotten: {megram_id}")


def _line(megram: "Megram", as_json: bool) -> str:
    import json  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    from earnest.foundation.instants import rfc3339  # noqa: PLC0415
    from earnest.foundation.text import printable  # noqa: PLC0415

    if as_json:
        return json.dumps(asdict(megram), ensure_ascii=False)
    where = f"{megram.space} · {megram.entity}"
    told = f"{megram.state:<15} {where}: {printable(megram.content)}"
    return f"{megram.id}  {megram.level}  {rfc3339(megram.created_at_ms)}  {told}"
