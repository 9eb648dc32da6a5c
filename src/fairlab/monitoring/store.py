"""The database of a monitor: SQLite in one file, or PostgreSQL; the same tables in both.

A batch is one transaction. Rows are ordered by their position, which is counted for each investigation, never by a
clock. Event and person are stored as keyed hashes only, the registered columns as JSON.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa
from filelock import FileLock, Timeout

from fairlab.checks import check_choice
from fairlab.fairtest import adaptive_level, look_level
from fairlab.monitoring.effects import add_counts
from fairlab.monitoring.looks import as_table
from fairlab.monitoring.registration import (
    EVENT,
    MISFIT,
    MOST_CATEGORIES,
    PERSON,
    RefusedError,
    Registration,
    error,
    for_training,
    keyed,
)

AT_ONCE = 10_000  # rows of one fetch
SECONDS_TO_WAIT = 5  # for a locked database
WORK_LOCK = 0x6661_6972  # PostgreSQL's advisory lock of who looks and sends notices

RUNNING, DONE, FAILED = "running", "done", "failed"  # states of a look
ENGINE = {"json_serializer": partial(json.dumps, allow_nan=False), "hide_parameters": True, "max_overflow": 0}


class _Registered(sa.TypeDecorator):
    """A registration, stored as JSON; it never changes."""

    impl, cache_ok = sa.Text, True

    def process_bind_param(self, value, _):
        """Return what is stored."""
        return value.model_dump_json()

    def process_result_value(self, value, _):
        """Return what was stored."""
        return _registered(value)


_registered = cache(Registration.model_validate_json)
metadata = sa.MetaData()
_id, _big, _json = sa.Integer, sa.BigInteger, sa.JSON(none_as_null=True)


def _of(primary_key=True):
    return sa.Column("investigation", _id, primary_key=primary_key, nullable=False, autoincrement=False)


tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", _id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("created", _big, nullable=False),
    sa.Column("revoked", _big),
    sqlite_autoincrement=True,
)
investigations = sa.Table(
    "investigations",
    metadata,
    sa.Column("id", _id, primary_key=True),
    sa.Column("registration", _Registered, nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("created", _big, nullable=False),
    # What changes with each batch: the categories met where none are declared, how many decisions there are and how
    # many that looks take, the running counts and the latest time.
    sa.Column("categories", _json, nullable=False),
    sa.Column("decided", _big, nullable=False),
    sa.Column("complete", _big, nullable=False),
    sa.Column("counts", _json, nullable=False),
    sa.Column("time", _big, nullable=False),
    sqlite_autoincrement=True,
)
decisions = sa.Table(
    "decisions",
    metadata,
    _of(),
    sa.Column("position", _big, primary_key=True, autoincrement=False),
    sa.Column("event", sa.LargeBinary, nullable=False),
    sa.Column("person", sa.LargeBinary),
    sa.Column("training", sa.Boolean, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    # The position among the rows that looks take: all, or those whose true label is known, by when it became known.
    sa.Column("complete", _big),
    sa.Index("decisions_event", "investigation", "event", unique=True),
    sa.Index("decisions_complete", "investigation", "complete"),
    sqlite_with_rowid=False,
)
batches = sa.Table(
    "batches",
    metadata,
    sa.Column("id", _id().with_variant(_big, "postgresql"), primary_key=True),
    _of(primary_key=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("body", sa.LargeBinary),
    sa.Column("answer", _json, nullable=False),
    sa.Column("time", _big, nullable=False),
    sa.Column("decided", _big, nullable=False),
    sa.Column("counts", _json, nullable=False),
    sa.Index("batches_key", "investigation", "kind", "key", unique=True),
    sa.Index("batches_time", "investigation", "time"),
    sqlite_autoincrement=True,
)
looks = sa.Table(
    "looks",
    metadata,
    _of(),
    sa.Column("number", _id, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("level", sa.Float, nullable=False),
    sa.Column("after", _big, nullable=False),  # rows up to here are released for training
    sa.Column("until", _big, nullable=False),  # the fresh test set ends here
    sa.Column("attempts", _id, nullable=False),
    sa.Column("started", _big, nullable=False),
    sa.Column("finished", _big),
    sa.Column("largest_p_value", sa.Float),
    sa.Column("report", _json),
    # The notice to the webhook; due never if there is none, it is delivered, or given up.
    sa.Column("notice_due", _big),
    sa.Column("notice_attempts", _id, nullable=False),
    sa.Column("notice_answer", sa.Text),
)
_complete = sa.update(decisions).where(
    decisions.c.investigation == sa.bindparam("of"), decisions.c.position == sa.bindparam("at")
)


class Store:
    """All access to the database.

    Parameters
    ----------
    url : str
        As ``sqlite:///monitor.db`` or ``postgresql://user@host/name``.
    clock : callable
        Seconds since 1970, as `time.time`.

    Attributes
    ----------
    read, write : callable
        Lend a connection for one transaction; that of `read` sees one state of the database.
    path : Path
        The file of SQLite.
    """

    def __init__(self, url: str, *, clock=time.time):
        backend = url.partition(":")[0].partition("+")[0]
        check_choice(backend, "database", ("sqlite", "postgresql"))
        self.url, self.is_sqlite, self._clock = sa.make_url(url), backend == "sqlite", clock
        self.path = Path(self.url.database or "")
        if self.is_sqlite:
            if self.url.database in (None, "", ":memory:"):
                raise ValueError("database: expected a file, as in sqlite:///monitor.db")
            self.engine = _sqlite(self.url, "BEGIN", pool_size=40, kilobytes=2_000)
            # One transaction at a time may write; others wait for its connection, which is fairer than SQLite's lock.
            self._writer = _sqlite(self.url, "BEGIN IMMEDIATE", pool_size=1, kilobytes=200_000)
        else:
            self.url = self.url.set(drivername="postgresql+psycopg")
            self.engine = sa.create_engine(
                self.url,
                pool_size=40,
                pool_pre_ping=True,
                connect_args={"connect_timeout": SECONDS_TO_WAIT},
                **ENGINE,
            )
            self._writer = self.engine
        self.read, self.write = self.engine.begin, self._writer.begin

    def now(self) -> int:
        """Return milliseconds since 1970."""
        return int(self._clock() * 1000)

    def _all(self, query) -> list[sa.Row]:
        with self.read() as connection:
            return connection.execute(query).all()

    def _change(self, query) -> sa.CursorResult:
        with self.write() as connection:
            return connection.execute(query)

    def close(self) -> None:
        """Close all connections; SQLite then has everything in one file."""
        for engine in {self.engine, self._writer}:
            engine.dispose()

    def claim_file(self):
        """Keep other servers from a SQLite file until the context or the process ends; a RuntimeError if one has it."""
        if not self.is_sqlite:
            return nullcontext()
        try:
            return FileLock(f"{self.path}.lock").acquire(blocking=False)
        except Timeout:
            raise RuntimeError(f"another server uses {self.path}; several can share a PostgreSQL") from None

    @contextmanager
    def claim_work(self) -> Iterator[bool]:
        """Say whether it is this server that looks and sends notices: one of those on a PostgreSQL, until the end."""
        with self.read() as connection:
            yield self.is_sqlite or connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(WORK_LOCK)))

    # Tokens

    def create_token(self, role: str, name: str = "") -> str:
        """Store a new token's hash and return the token, which is shown this once."""
        secret = secrets.token_urlsafe(32)
        query = sa.insert(tokens).values(name=name, role=role, hash=_digest(secret), created=self.now())
        (number,) = self._change(query).inserted_primary_key
        return f"{number}.{secret}"

    def token(self, text: str) -> sa.Row | None:
        """Return number and role of a token; None if there is none like it or it is revoked."""
        number, _, secret = text.partition(".")
        same = (tokens.c.hash == _digest(secret), tokens.c.revoked.is_(None))
        found = self._all(sa.select(tokens.c.id, tokens.c.role).where(*same))
        return next((row for row in found if str(row.id) == number), None)

    def token_list(self) -> list[sa.Row]:
        """Return all tokens, hashed."""
        return self._all(sa.select(tokens).order_by(tokens.c.id))

    def revoke_token(self, number: int) -> bool:
        """Revoke a token; return whether there is one that was not revoked."""
        query = sa.update(tokens).where(tokens.c.id == number, tokens.c.revoked.is_(None)).values(revoked=self.now())
        return self._change(query).rowcount == 1

    # Investigations

    def register(self, registration: Registration) -> int:
        """Store an investigation and return its number."""
        query = sa.insert(investigations).values(
            registration=registration,
            key=secrets.token_bytes(32),
            created=self.now(),
            categories={
                name: []
                for name, column in registration.columns.items()
                if column.type == "category" and not column.categories
            },
            decided=0,
            complete=0,
            counts={},
            time=self.now(),
        )
        return self._change(query).inserted_primary_key[0]

    def investigation(self, number: int, *, lock: sa.Connection | None = None) -> sa.Row:
        """Return an investigation, locked until the end of a transaction if its connection is given.

        Raises
        ------
        RefusedError
            If there is none of this number.
        """
        query = sa.select(investigations).where(investigations.c.id == number)
        found = lock.execute(query.with_for_update()).all() if lock else self._all(query)
        if not found:
            raise RefusedError(404, f"no investigation {number}")
        return found[0]

    def numbers(self) -> list[int]:
        """Return the numbers of all investigations."""
        return [number for (number,) in self._all(sa.select(investigations.c.id).order_by(investigations.c.id))]

    def delete_investigation(self, number: int) -> None:
        """Delete an investigation with all that belongs to it."""
        with self.write() as connection:
            self.investigation(number, lock=connection)
            for table in (decisions, batches, looks):
                connection.execute(sa.delete(table).where(table.c.investigation == number))
            connection.execute(sa.delete(investigations).where(investigations.c.id == number))

    # Rows

    def add(self, kind: str, number: int, rows: list, key: str | None = None, body: bytes = b"") -> dict[str, int]:
        """Store what is new of a batch, all or none, and return how many rows were received, new and repeated.

        Of an event that comes twice the first content counts, and the first label. Labels of events that are not
        stored are not kept, and counted as unknown.

        Parameters
        ----------
        kind : {"decisions", "labels"}
        number : int
        rows : list of dict
        key : str or None
            The same key with the same body gets the answer that it got before.
        body : bytes
            Its hash.

        Raises
        ------
        RefusedError
            If a row does not fit, or the key came before with another body.
        """
        registered = self.investigation(number)
        registration, true_label = registered.registration, registered.registration.true_label
        rows = registration.check(kind, rows)
        events, first = keyed(registered.key, b"event ", [row[EVENT] for row in rows]), {}
        for event, row in zip(events, rows, strict=True):
            first.setdefault(event, row)
        with self.write() as connection:
            before = self.investigation(number, lock=connection)  # one batch of an investigation at a time
            if key is not None:
                same = (batches.c.investigation == number, batches.c.kind == kind, batches.c.key == key)
                if earlier := connection.execute(sa.select(batches).where(*same)).first():
                    if earlier.body != body:
                        raise RefusedError(422, f"the key was used for a batch with another body ({kind})")
                    return earlier.answer
            mine = decisions.c.investigation == number
            # By their positions: else SQLite may read all rows of the investigation rather than the index of events.
            places = sa.select(decisions.c.position).where(mine, decisions.c.event.in_(list(first))).correlate(None)
            of = (decisions.c.event, decisions.c.position, decisions.c.content, decisions.c.complete)
            found = connection.execute(sa.select(*of).where(mine, decisions.c.position.in_(places)))
            known, decided = {row.event: row for row in found}, before.decided
            if kind == "decisions":
                new = {event: row for event, row in first.items() if event not in known}
                columns = {
                    "investigation": [number] * len(new),
                    "position": range(decided + 1, decided + 1 + len(new)),
                    "event": new,
                    "person": keyed(registered.key, b"person ", [row.get(PERSON) for row in new.values()]),
                    "training": for_training(list(new), registration.train_size).tolist(),
                }
                decided += len(new)
            else:
                waiting = [event for event in first if event in known and known[event].complete is None]
                new = {event: json.loads(known[event].content) | first[event] for event in waiting}
                columns = {"of": [number] * len(new), "at": [known[event].position for event in new]}
            kept = [{name: row.get(name) for name in registration.columns} for row in new.values()]
            is_complete = np.array([true_label is None or row[true_label] is not None for row in kept], dtype=bool)
            columns["content"] = map(json.dumps, kept)
            columns["complete"] = np.where(is_complete, before.complete + np.cumsum(is_complete), None)
            if new:
                stored = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
                connection.execute(sa.insert(decisions) if kind == "decisions" else _complete, stored)
            n_unknown = 0 if kind == "decisions" else sum(event not in known for event in events)
            answer = {"received": len(rows), "new": len(new), "repeated": len(rows) - len(new) - n_unknown}
            answer |= {} if kind == "decisions" else {"unknown": n_unknown}
            after = {
                "decided": decided,
                "counts": add_counts(before.counts, registration, as_table(registration, kept)[is_complete]),
                "time": max(self.now(), before.time),  # also where the clock was set back
            }
            batch = {"investigation": number, "kind": kind, "key": key, "body": body, "answer": answer}
            connection.execute(sa.insert(batches).values(batch | after))
            after |= {
                "complete": before.complete + int(is_complete.sum()),
                "categories": _met(before.categories, kept),
            }
            connection.execute(sa.update(investigations).where(investigations.c.id == number).values(after))
        return answer

    def rows(self, connection, number: int, until: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
        """Return the rows that looks take up to a position, in order: positions, which are for training, the table."""
        query = (
            sa.select(decisions.c.complete, decisions.c.training, decisions.c.content)
            .where(decisions.c.investigation == number, decisions.c.complete <= until)
            .order_by(decisions.c.complete)
        )
        parts = [
            pd.DataFrame(map(json.loads, part["content"]), index=[part["complete"], part["training"]])
            for part in pd.read_sql(query, connection.execution_options(yield_per=AT_ONCE), chunksize=AT_ONCE)
        ]
        found = pd.concat(parts)
        positions, training = (found.index.get_level_values(name) for name in ("complete", "training"))
        table = as_table(self.investigation(number).registration, found.reset_index(drop=True))
        return positions.to_numpy(), training.to_numpy(bool), table

    def delete_person(self, number: int, person: str) -> int:
        """Delete the rows of a person and return how many there were; counts and reports stay."""
        (wanted,) = keyed(self.investigation(number).key, b"person ", [person])
        return self._delete_rows(number, decisions.c.person == wanted)

    def retain(self) -> int:
        """Delete rows that are older than their investigation retains them; return how many."""
        deleted = 0
        for number in self.numbers():
            if days := self.investigation(number).registration.retention_days:
                old = (batches.c.investigation == number, batches.c.time < self.now() - days * 86_400_000)
                until = sa.select(sa.func.max(batches.c.decided)).where(*old).scalar_subquery()
                deleted += self._delete_rows(number, decisions.c.position <= until)
        return deleted

    def _delete_rows(self, number, which) -> int:
        with self.write() as connection:
            self.investigation(number, lock=connection)
            deleted = connection.execute(
                sa.delete(decisions).where(decisions.c.investigation == number, which)
            ).rowcount
        if deleted and self.is_sqlite:  # nothing of the rows is left in the log, either
            with self._writer.connect() as connection:
                connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return deleted

    # Looks

    def look_list(self, number: int) -> list[sa.Row]:
        """Return the looks of an investigation in order."""
        self.investigation(number)
        return self._all(sa.select(looks).where(looks.c.investigation == number).order_by(looks.c.number))

    def plan_look(self, number: int, *, is_wanted: bool = False) -> int:
        """Fix the rows and the level of the next look if it is due, or wanted now, and return its number.

        Whether there is a look depends on numbers of rows and on time only, so that a postponed one spends nothing.

        Raises
        ------
        RefusedError
            If it is not due, the last one is not finished, or there are too few rows.
        """
        found, past = self.investigation(number), self.look_list(number)
        if past and past[-1].state == RUNNING:
            raise RefusedError(409, f"look {past[-1].number} is not finished")
        registration, until = found.registration, found.complete
        after, latest = (past[-1].until, past[-1].started) if past else (0, found.created)
        ((unit, every),) = registration.look_every.items()
        waited = self.now() - latest  # less than nothing if the clock was set back
        is_early = until - after < every if unit == "rows" else 0 <= waited < every * 1000
        if is_early and not is_wanted:
            raise RefusedError(409, "the next look is not due")
        self._check_enough(number, registration, after, until)
        alpha, largest = 1 - registration.confidence_level, [one.largest_p_value for one in past]
        query = sa.insert(looks).values(
            investigation=number,
            number=len(past) + 1,
            state=RUNNING,
            level=adaptive_level(largest, alpha)
            if registration.spending == "adaptive"
            else look_level(len(past) + 1, alpha),
            after=after,
            until=until,
            attempts=0,
            started=self.now(),
            notice_attempts=0,
        )
        with self.write() as connection:
            self.investigation(number, lock=connection)
            connection.execute(query)  # once: of two requests at a time the second breaks the key and is tried again
        return len(past) + 1

    def _check_enough(self, number, registration, after, until) -> None:
        """Refuse a look whose training set or fresh test set is too small."""
        fresh = (decisions.c.complete > after) & ~decisions.c.training
        needed = max(registration.min_leaf_size, registration.smallest_cell)
        mine = sa.select(decisions.c.complete).where(decisions.c.investigation == number, decisions.c.complete <= until)
        for what, which in (("training set", ~fresh), ("fresh test set", fresh)):
            if (found := len(self._all(mine.where(which).limit(needed)))) < needed:
                raise RefusedError(409, f"{what}: expected at least {needed} rows, found {found}")

    def running_look(self) -> tuple[int, int] | None:
        """Return investigation and number of a look that is not finished, if there is one."""
        query = sa.select(looks.c.investigation, looks.c.number).where(looks.c.state == RUNNING)
        return next(map(tuple, self._all(query.order_by(looks.c.started))), None)

    def begin_look(self, number: int, look: int) -> sa.Row:
        """Count one attempt more at a look and return it."""
        same = (looks.c.investigation == number, looks.c.number == look, looks.c.state == RUNNING)
        query = sa.update(looks).where(*same).values(attempts=looks.c.attempts + 1).returning(*looks.c)
        with self.write() as connection:
            return connection.execute(query).one()

    def finish_look(self, begun: sa.Row, state: str, report: dict, largest_p_value=1.0, *, has_notice=False) -> bool:
        """Store the result of a look, and whether a webhook is to get it, unless a later attempt began.

        A look that failed counts as one with a large p-value, which is the safe side of the adaptive rule.
        """
        same = (*looks.primary_key, looks.c.attempts, looks.c.state)
        query = sa.update(looks).where(*(column == getattr(begun, column.name) for column in same))
        values = {"state": state, "report": report, "largest_p_value": largest_p_value, "finished": self.now()}
        return self._change(query.values(values | {"notice_due": self.now() if has_notice else None})).rowcount == 1

    def next_notice(self) -> sa.Row | None:
        """Return a look whose notice is due, if there is one."""
        query = sa.select(looks).where(looks.c.notice_due <= self.now()).order_by(looks.c.notice_due).limit(1)
        return next(iter(self._all(query)), None)

    def end_attempt(self, of: sa.Row, answer: str, *, seconds: float | None) -> None:
        """Store what a webhook answered, and in how many seconds to try again; None if it is delivered or given up."""
        due = None if seconds is None else self.now() + int(seconds * 1000)
        query = sa.update(looks).where(*(column == getattr(of, column.name) for column in looks.primary_key))
        self._change(query.values(notice_due=due, notice_answer=answer, notice_attempts=of.notice_attempts + 1))

    def look_states(self) -> list[tuple[str, int]]:
        """Return how many looks there are in each state."""
        return self._all(sa.select(looks.c.state, sa.func.count()).group_by(looks.c.state))

    # Effects

    def batch_counts(self, number: int, start: int, end: int, bucket: int) -> list[tuple[int, dict]]:
        """Return the time and running counts of the last batch in each bucket of milliseconds that has one."""
        bucket_of = (batches.c.time - start) // bucket
        inside = (batches.c.investigation == number, batches.c.time >= start, batches.c.time < end)
        last = sa.select(sa.func.max(batches.c.id)).where(*inside).group_by(bucket_of)
        query = sa.select(batches.c.time, batches.c.counts).where(batches.c.id.in_(last)).order_by(batches.c.id)
        return list(map(tuple, self._all(query)))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _met(categories: dict[str, list], rows: list[dict]) -> dict[str, list]:
    """Return the categories that were met in the columns that declare none."""
    met = {name: sorted({*known, *(row[name] for row in rows)} - {None}) for name, known in categories.items()}
    for name, several in met.items():
        if len(several) > MOST_CATEGORIES:
            raise RefusedError(422, MISFIT, [error(None, name, f"more than {MOST_CATEGORIES} categories; group them")])
    return met


def _sqlite(url: sa.URL, begin: str, *, pool_size: int, kilobytes: int) -> sa.Engine:
    """Return an engine whose transactions begin by some statement, with a cache of some size for each connection."""
    engine = sa.create_engine(url, pool_size=pool_size, connect_args={"timeout": SECONDS_TO_WAIT}, **ENGINE)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection, _):
        connection.isolation_level = None  # transactions begin where SQLAlchemy says so
        for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", f"cache_size=-{kilobytes}"):
            connection.execute(f"PRAGMA {setting}")

    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine
