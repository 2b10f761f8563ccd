"""What the models of a run were told and answered, for a person to read."""

from collections.abc import Iterator

from earnest.app.readers import task_log
from earnest.app.settings import Settings
from earnest.foundation.instants import rfc3339
from earnest.runtime.task_log_reading import Exchange
from earnest.surfaces.cli.printing import complain, say, say_json


def print_log(settings: Settings, run_id: str, *, as_json: bool) -> None:
    """Print the task log, request by request; on stderr, how much of it could not be read. Raises `OSError`."""
    exchanges = unreadable = 0
    for exchange in task_log(settings, run_id):
        if exchange is None:
            unreadable += 1
            continue
        exchanges += 1
        if as_json:
            say_json(exchange.to_json())
        else:
            say(*_lines(exchange))
    if unreadable:
        complain([f"lines of the log that cannot be read: {unreadable}"])
    if not exchanges and not as_json:
        say(f"no model was asked in {run_id}")


def _lines(exchange: Exchange) -> Iterator[str]:
    """What others wrote stands behind a bar, so that it cannot pass for ours."""
    yield f"{rfc3339(exchange.at_ms)}  {exchange.key}  {exchange.prompt}  {exchange.model}"
    if exchange.messages_before:
        yield f"  after {exchange.messages_before} messages, told before"
    for role, text in (*exchange.messages, ("answer", exchange.answer), ("failure", exchange.failure)):
        if text:
            yield f"  {role}:"
            yield from (f"  | {line}" for line in text.split("\n"))
    yield ""
