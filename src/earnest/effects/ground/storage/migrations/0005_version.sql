-- The revision stands in `schema_version`, no longer where Alembic kept it.

DROP TABLE IF EXISTS alembic_version;
