"""`earnest dream`: let memory put itself in order now."""

from typing import Annotated

import typer


def dream(
    now: Annotated[bool, typer.Option("--now", help="Dream one cycle now.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Let memory forget, make rules, and drop refuted ones."""
    import asyncio  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    from earnest.app.platform import open_platform  # noqa: PLC0415
    from earnest.app.settings import read_settings  # noqa: PLC0415
    from earnest.runtime.dreaming import Dream  # noqa: PLC0415
    from earnest.surfaces.cli.printing import say, say_json  # noqa: PLC0415

    if not now:
        raise typer.BadParameter("memory dreams by itself beside every run; --now dreams one cycle now")

    async def work() -> Dream:
        async with open_platform(read_settings()) as platform:
            return await platform.dreaming.cycle()

    done = asyncio.run(work())
    if as_json:
        say_json(asdict(done))
        return
    for revision in done.revisions:
        say(f"{revision.why}: {len(revision.forget)} entries gone, {len(revision.remember)} new")
        for megram in revision.remember:
            say(f"  {megram.level}  {megram.id}  {megram.space} · {megram.entity}", f"     {megram.content}")
    say(f"forgotten: {len(done.forgotten)}" if done.forgotten or done.revisions else "nothing to do")
