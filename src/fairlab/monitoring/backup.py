"""Backup of a monitor's database into one file, and restoring it."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from fairlab.monitoring import migrations
from fairlab.monitoring.store import Store


def backup(store: Store, file: str) -> None:
    """Write all that is stored to a new file, also while a server runs; PostgreSQL's own program writes its own.

    Raises
    ------
    FileNotFoundError
        If there is no database.
    FileExistsError
        If the file is there.
    RuntimeError
        If PostgreSQL cannot be read.
    """
    if store.is_sqlite and not store.path.is_file():
        raise FileNotFoundError(f"no file {store.path}; name another by --database")
    Path(file).touch(mode=0o600, exist_ok=False)  # nobody else may read it: it holds secrets
    if not store.is_sqlite:
        return _run(store, "pg_dump", "--format=custom", f"--file={file}")
    with closing(sqlite3.connect(store.path)) as database:
        database.execute("VACUUM INTO ?", [file])


def restore(store: Store, file: str) -> None:
    """Replace all that is stored by what a backup holds. No server may run on SQLite meanwhile.

    Raises
    ------
    RuntimeError
        If a server runs.
    ValueError
        If the file is no backup, or is corrupted. Nothing is changed then.
    """
    if not store.is_sqlite:
        options = ("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error")
        return _run(store, "pg_restore", *options, file)
    with store.claim_file(), closing(sqlite3.connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True)) as kept:
        try:
            kept.execute("SELECT version_num FROM alembic_version").fetchone()
            is_sound = kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        except sqlite3.DatabaseError:
            is_sound = False
        if not is_sound:
            raise ValueError(f"{file}: expected a backup of a monitor, found something else or a corrupted one")
        store.path.touch(mode=0o600)
        with closing(sqlite3.connect(store.path)) as database:
            kept.backup(database)
    migrations.migrated(store)


def _run(store: Store, program: str, *options: str) -> None:
    url = store.url.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    secret = {"PGPASSWORD": store.url.password} if store.url.password else {}
    try:
        done = subprocess.run(
            [program, f"--dbname={url}", *options], env=os.environ | secret, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise RuntimeError(f"PostgreSQL needs its program {program} for this; it is not installed") from None
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
