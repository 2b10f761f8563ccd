"""A sweep of the data directory under the settings in force."""

from collections.abc import Callable

from earnest.app import places
from earnest.app.readers import reading_books
from earnest.app.settings import Settings
from earnest.effects.ground.clock import SystemClock
from earnest.effects.outside.artifacts.store import MEBIBYTE
from earnest.runtime.retention import Retention
from earnest.runtime.sweeping import Sweep, Swept
from earnest.runtime.verdict_book import VerdictBook


def sweep(settings: Settings, *, dry: bool, tell: Callable[[str], None] = lambda _: None) -> Swept:
    """See `Sweep.run`. Raises `Refused("no_database")` before the first run."""
    sweeping = Sweep(
        home=settings.home,
        retention=Retention(
            runs_days=settings.runs_days, stages_days=settings.stages_days, verdicts_days=settings.verdicts_days
        ),
        verdicts=VerdictBook(places.verdicts(settings.home), settings.verdicts_mb * MEBIBYTE),
        dry=dry,
    )
    with reading_books(settings) as books:
        return sweeping.run(books, SystemClock().now_ms(), tell)
