"""Changes of the tables from version to version, by Alembic."""

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory


def _config(**attributes) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", "fairlab.monitoring:migrations")
    return config


def newest() -> str:
    """Return the version of the tables that this code needs."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def current(connection: sa.Connection) -> str | None:
    """Return the version of the tables in a database; None before the first."""
    return MigrationContext.configure(connection).get_current_revision()


def migrate(connection: sa.Connection) -> None:
    """Bring the tables to the newest version, within the connection's transaction.

    Raises
    ------
    RuntimeError
        If they are of a version that this code does not know.
    """
    found = current(connection)
    known = [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]
    if found is not None and found not in known:
        raise RuntimeError(f"the database has version {found}, newer than this fairlab; expected up to {known[0]}")
    command.upgrade(_config(connection=connection), "head")
