"""Runs migrations on the connection that `fairlab.monitoring.migrations` gives; Alembic needs this file."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
