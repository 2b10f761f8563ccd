"""Where a data directory keeps what pages read beside its books."""

from earnest.app import places
from earnest.app.readers import reading_memory
from earnest.app.settings import Settings
from earnest.surfaces.dashboard.look import DataFolders


def place_of(settings: Settings) -> DataFolders:
    """The folders of a data directory."""
    from earnest.runtime.task_run import RUNS_FOLDER  # noqa: PLC0415 - loads all that runs need

    home = settings.home
    return DataFolders(
        runs=home / RUNS_FOLDER, memory=lambda: reading_memory(settings), audit_log=places.audit_log(home)
    )
