"""Migrations over the connection that opened the database, in its transaction."""

from alembic import context

from earnest.effects.ground.storage.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
context.run_migrations()
