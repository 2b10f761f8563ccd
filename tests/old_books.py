"""Books as an earlier version left them, which kept the revision in Alembic's table."""

import sqlite3

REVISION = "0003"
ADDED_SINCE = (
    *("TABLE periods", "TABLE posts", "TABLE remarks", "TABLE residents"),
    *("INDEX jobs_by_state_category_id", "TABLE leases", "TABLE request_counts"),
)


def take_back(driver: sqlite3.Connection) -> None:
    """Make new books old."""
    for added in ADDED_SINCE:
        driver.execute(f"DROP {added}")
    driver.execute("DROP TABLE schema_version")
    driver.execute(
        "CREATE TABLE alembic_version "
        "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
    )
    driver.execute("INSERT INTO alembic_version VALUES (?)", (REVISION,))
