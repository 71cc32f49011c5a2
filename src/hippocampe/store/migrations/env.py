"""Run by Alembic with the connection that `hippocampe.store.migrate` gives it."""

from alembic import context

from hippocampe.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
