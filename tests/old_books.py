"""Books as the version before this one left them."""

import sqlite3

REVISION = "0003"
ADDED_SINCE = ("periods", "posts", "remarks", "residents")


def take_back(driver: sqlite3.Connection) -> None:
    """Make new books old."""
    for table in ADDED_SINCE:
        driver.execute(f"DROP TABLE {table}")
    driver.execute("UPDATE alembic_version SET version_num = ?", (REVISION,))
