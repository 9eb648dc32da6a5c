"""Backup of a monitor's database into one file, and restoring it."""

import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import zlib
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from fairlab.monitoring import migrations
from fairlab.monitoring.store import Store, metadata

# Permitted entries of a PostgreSQL dump: none with code that runs by itself.
ENTRY = re.compile(
    r"\d+; \d+ \d+ (?P<kind>TABLE DATA|TABLE|SEQUENCE SET|SEQUENCE OWNED BY|SEQUENCE|DEFAULT|CONSTRAINT|INDEX) "
    r"\S+ (?P<name>\S+) "
)
# Only the monitor's tables are dumped, without privileges, whose roles may not exist on another server.
OF_DUMP = (
    *("--format=custom", "--compress=0", "--no-owner", "--no-privileges", "--no-comments"),
    *(f"--table={name}" for name in (*metadata.tables, "alembic_version")),
)


def backup(store: Store, file: str) -> None:
    """Write all stored data to a new file, even while a server runs; PostgreSQL is dumped by its own program.

    From PostgreSQL, only the monitor's tables are written, without privileges, whatever else is in the database.

    Raises
    ------
    FileExistsError
        If the file exists.
    RuntimeError
        If PostgreSQL cannot be read, or the tables are of a newer version.
    ValueError
        If the backup could not be restored, since the tables are not those of a monitor or have triggers.
    """
    if Path(file).exists():
        raise FileExistsError(f"expected a new file, found {file}")
    with TemporaryDirectory(dir=Path(file).parent) as folder:  # private to its owner; deleted with a partial backup
        plain, packed = Path(folder, "plain"), Path(folder, "packed")
        if store.is_sqlite:
            with closing(sqlite3.connect(store.path)) as database:
                database.execute("VACUUM INTO ?", [str(plain)])
        else:
            _run(store, "pg_dump", f"--dbname={_url(store)}", *OF_DUMP, f"--file={plain}")
        packed.touch(mode=0o600)  # it holds secrets
        with plain.open("rb") as reading, gzip.open(packed, "wb") as writing:  # whose checksum detects a flipped bit
            shutil.copyfileobj(reading, writing)
        _check(store, plain, "database")  # after packing, since this migrates the file
        packed.rename(file)


def restore(store: Store, file: str) -> None:
    """Replace all stored data by a backup. With SQLite, no server may run meanwhile.

    Raises
    ------
    RuntimeError
        If a server runs, or the backup is of a newer version.
    ValueError
        If the file is no backup, is corrupted or holds other tables, triggers or views. Nothing is changed then.
    """
    with store.claim_file(), TemporaryDirectory(dir=store.path.parent if store.is_sqlite else None) as folder:
        restored = Path(folder, "restored")
        restored.touch(mode=0o600)
        try:
            with gzip.open(file) as reading, restored.open("wb") as writing:
                shutil.copyfileobj(reading, writing)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise ValueError(
                f"{file}: expected a backup of a monitor, found something else or a corrupted one"
            ) from None
        _check(store, restored, file)
        if not store.is_sqlite:
            return _restore_dump(store, str(restored))
        store.close()
        for end in ("-wal", "-shm"):  # otherwise they would be read as part of the restored file
            Path(f"{store.path}{end}").unlink(missing_ok=True)
        restored.replace(store.path)


def _check(store: Store, path: Path, name: str) -> None:
    """Raise an error unless a file can be restored: it has a monitor's tables alone, intact, of a known version."""
    if not store.is_sqlite:
        return _check_dump(store, str(path), name)
    try:
        with closing(sqlite3.connect(path)) as database:
            database.execute("SELECT version_num FROM alembic_version")
    except sqlite3.DatabaseError:
        raise ValueError(
            f"{name}: expected the tables of a monitor, found something else or a corrupted file"
        ) from None
    if _schema(path) != _schema(path.with_name("expected")):
        raise ValueError(f"{name}: expected the tables of a monitor, found others, or triggers or views")


def _schema(path: Path) -> list[tuple]:
    """Migrate a SQLite file to the newest version, and return its tables, indexes, triggers and views."""
    migrations.migrated(Store(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        return [*database.execute("PRAGMA integrity_check"), *database.execute(query)]


def _check_dump(store: Store, file: str, name: str) -> None:
    listed = [line for line in _run(store, "pg_restore", "--list", file).splitlines() if line and line[0] != ";"]
    entries = [ENTRY.match(line) for line in listed]
    tables = {entry["name"] for entry in entries if entry and entry["kind"] == "TABLE"}
    if not all(entries) or tables != {*metadata.tables, "alembic_version"}:
        raise ValueError(f"{name}: expected the tables of a monitor, found others, or triggers, rules or policies")
    data = _run(store, "pg_restore", "--data-only", "--table=alembic_version", "--file=-", file)
    if re.search(r"FROM stdin;\n(.*)\n", data)[1] not in migrations.known():
        raise RuntimeError(f"{name}: expected version {migrations.known()[0]} or an older one; update fairlab")


def _restore_dump(store: Store, file: str) -> None:
    _run(
        store,
        "pg_restore",
        f"--dbname={_url(store)}",
        "--clean",
        "--if-exists",
        "--no-owner",
        "--single-transaction",
        "--exit-on-error",
        file,
    )
    migrations.migrated(store)


def _url(store: Store) -> str:
    return store.url.set(drivername="postgresql", password=None).render_as_string()


def _run(store: Store, program: str, *options: str) -> str:
    secret = {"PGPASSWORD": store.url.password} if store.url.password else {}
    done = subprocess.run([program, *options], env=os.environ | secret, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
    return done.stdout
