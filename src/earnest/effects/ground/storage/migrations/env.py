"""How do the migrations reach the database? Over the connection that opened it, in its transaction."""

from alembic import context

from earnest.effects.ground.storage.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
context.run_migrations()
