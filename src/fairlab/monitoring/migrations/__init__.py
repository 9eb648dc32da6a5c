"""Changes of the tables from version to version, by Alembic."""

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

MIGRATION_LOCK = 0x6661_6973  # an advisory lock of PostgreSQL


def _config(**attributes) -> Config:
    return Config(attributes=attributes, config_args={"script_location": "fairlab.monitoring:migrations"})


def known() -> list[str]:
    """Return the versions of the tables that this code knows, the newest first."""
    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()]


def current(connection: sa.Connection) -> str | None:
    """Return the version of the tables in a database; None before the first."""
    return MigrationContext.configure(connection).get_current_revision()


def migrated(store):
    """Bring the tables of a store to the newest version, in one transaction, and return the store.

    Raises
    ------
    RuntimeError
        If they are of a version that this code does not know, or there is no access to the database.
    """
    if store.is_sqlite:
        store.path.touch(0o600)  # it holds the keys of splits and the secrets of webhooks
    try:
        with store.write() as connection:
            if not store.is_sqlite:  # two servers may start at once
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            command.upgrade(_config(connection=connection), "head")
    except CommandError as error:
        raise RuntimeError(
            f"database: expected version {known()[0]} or an older one; update fairlab ({error})"
        ) from None
    except sa.exc.DBAPIError as error:
        raise RuntimeError(f"database: {error.orig}") from None
    return store
