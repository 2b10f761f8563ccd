"""The task log of a run for people: what models were told and answered, what was judged and sent back."""

from collections.abc import Iterator

from earnest.app.readers import task_log
from earnest.app.settings import Settings
from earnest.foundation.instants import rfc3339
from earnest.foundation.shapes import to_json
from earnest.runtime.task_log import Judgement, LoggedExchange
from earnest.surfaces.cli.printing import complain, say, say_json


def print_log(settings: Settings, run_id: str, *, as_json: bool) -> None:
    """Print the task log, entry by entry; on stderr, how much of it could not be read. Raises `OSError`."""
    entries = unreadable = 0
    for entry in task_log(settings, run_id):
        if entry is None:
            unreadable += 1
            continue
        entries += 1
        if as_json:
            say_json(to_json(entry))
        else:
            say(*(_lines(entry) if isinstance(entry, LoggedExchange) else _judged(entry)))
    if unreadable:
        complain([f"lines of the log that cannot be read: {unreadable}"])
    if not entries and not as_json:
        say(f"nothing was asked or judged in {run_id}")


def _judged(judgement: Judgement) -> Iterator[str]:
    yield f"{rfc3339(judgement.at_ms)}  {judgement.key}  {judgement.kind}"
    yield from (f"  | {line}" for text in judgement.lines for line in text.split("\n"))
    yield ""


def _lines(exchange: LoggedExchange) -> Iterator[str]:
    """What others wrote stands behind a bar, so that it cannot pass for ours."""
    yield f"{rfc3339(exchange.at_ms)}  {exchange.key}  {exchange.prompt}  {exchange.model}"
    if exchange.messages_before:
        yield f"  after {exchange.messages_before} messages, told before"
    messages = [(message.role, message.text) for message in exchange.messages]
    for role, text in (*messages, ("answer", exchange.answer), ("failure", exchange.failure)):
        if text:
            yield f"  {role}:"
            yield from (f"  | {line}" for line in text.split("\n"))
    yield ""
