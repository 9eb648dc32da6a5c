"""Backup of a monitor's database into one file, and restoring it."""

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fairlab.monitoring import migrations
from fairlab.monitoring.store import Store, metadata

SEAL = b"\nfairlab monitor backup, SHA-256 "  # ends a backup of SQLite, before the hash of all that is before it
# What a dump of PostgreSQL may hold: no code that runs by itself.
KINDS = "TABLE DATA|TABLE|SEQUENCE SET|SEQUENCE OWNED BY|SEQUENCE|DEFAULT|CONSTRAINT|INDEX"
ENTRY = re.compile(rf"\d+; \d+ \d+ (?P<kind>{KINDS}) \S+ (?P<name>\S+) ")
TABLES = {*metadata.tables, "alembic_version"}


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
    try:
        if not store.is_sqlite:
            _run(store, "pg_dump", f"--dbname={_url(store)}", "--format=custom", f"--file={file}")
            return
        with closing(sqlite3.connect(store.path)) as database:
            database.execute("VACUUM INTO ?", [file])
        with Path(file).open("rb+") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
            written.write(SEAL + digest.encode())
    except BaseException:  # as on a full disk: half a backup is none
        Path(file).unlink()
        raise


def restore(store: Store, file: str) -> None:
    """Replace all that is stored by what a backup holds. No server may run on SQLite meanwhile.

    Raises
    ------
    RuntimeError
        If a server runs, or the backup is of a newer version.
    ValueError
        If the file is no backup, is corrupted or holds other tables, triggers or views. Nothing is changed then.
    """
    if not store.is_sqlite:
        return _restore_dump(store, file)
    store.close()
    with store.claim_file(), TemporaryDirectory(dir=store.path.parent) as folder:
        restored, expected = Path(folder, "restored"), Path(folder, "expected")
        restored.touch(mode=0o600)
        shutil.copyfile(file, restored)
        if not _unseal(restored):
            raise ValueError(f"{file}: expected a backup of a monitor, found something else or a corrupted one")
        if _schema(store, restored) != _schema(store, expected):
            raise ValueError(f"{file}: expected the tables of a monitor, found others, or triggers or views")
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(store.path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for end in ("-wal", "-shm"):  # else they would be read as those of the other file
            Path(f"{store.path}{end}").unlink(missing_ok=True)
        restored.replace(store.path)


def _unseal(path: Path) -> bool:
    """Whether a file ends with the hash of what is before it, which alone is left."""
    with path.open("rb+") as file:
        file.seek(max(path.stat().st_size - len(SEAL) - 64, 0))
        end, seal = file.tell(), file.read()
        file.truncate(end)
        file.seek(0)
        os.fsync(file)
        return seal == SEAL + hashlib.file_digest(file, "sha256").hexdigest().encode()


def _schema(store: Store, path: Path) -> list[tuple]:
    """Return what a SQLite file, migrated to the newest version, has tables, indexes, triggers and views of."""
    migrations.migrated(Store(store.url.set(database=str(path)).render_as_string())).close()
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        return [*database.execute("PRAGMA integrity_check"), *database.execute(query)]


def _restore_dump(store: Store, file: str) -> None:
    listed = [line for line in _run(store, "pg_restore", "--list", file).splitlines() if line and line[0] != ";"]
    entries = [ENTRY.match(line) for line in listed]
    if not all(entries) or {entry["name"] for entry in entries if entry["kind"] == "TABLE"} != TABLES:
        raise ValueError(f"{file}: expected a backup of a monitor, with its tables only, found something else")
    data = _run(store, "pg_restore", "--data-only", "--table=alembic_version", "--file=-", file)
    version = re.search(r"FROM stdin;\n(.*)\n", data)[1]
    if version not in migrations.known():
        raise RuntimeError(f"{file}: expected version {migrations.newest()} or an older one; update fairlab")
    options = ("--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error")
    _run(store, "pg_restore", f"--dbname={_url(store)}", *options, file)
    migrations.migrated(store)


def _url(store: Store) -> str:
    return store.url.set(drivername="postgresql", password=None).render_as_string()


def _run(store: Store, program: str, *options: str) -> str:
    secret = {"PGPASSWORD": store.url.password} if store.url.password else {}
    try:
        done = subprocess.run([program, *options], env=os.environ | secret, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RuntimeError(f"PostgreSQL needs its program {program} for this; it is not installed") from None
    if done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr.strip()}")
    return done.stdout
