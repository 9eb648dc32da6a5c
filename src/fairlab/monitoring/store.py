"""The database of a monitor: SQLite in one file, or PostgreSQL; the same tables in both.

A batch is one transaction. Rows are ordered by their position, which is counted for each investigation, never by a
clock. Event and person are stored as keyed hashes only.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from filelock import FileLock, Timeout

from fairlab.checks import check_choice
from fairlab.fairtest import adaptive_level, look_level
from fairlab.monitoring.effects import add_counts, indicators
from fairlab.monitoring.registration import (
    EVENT,
    MISFIT,
    MISSING,
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
SECONDS_TO_SEND = 60  # a notice, before another attempt may begin
LOOK_LOCK = 0x6661_6972  # PostgreSQL's advisory lock of who looks

RUNNING, DONE, FAILED = "running", "done", "failed"  # states of a look
ENGINE = {"json_serializer": partial(json.dumps, allow_nan=False), "hide_parameters": True, "max_overflow": 0}


class _Bytes(sa.LargeBinary):
    """Bytes as both databases take and give them."""

    bind_processor = result_processor = lambda self, *_: None


metadata = sa.MetaData()
_id, _big, _json = sa.Integer, sa.BigInteger, sa.JSON(none_as_null=True)


def _of(primary_key=True):
    return sa.Column("investigation", _id, primary_key=primary_key, nullable=False, autoincrement=False)


def _index_of_known(column):
    known = sa.text(f"{column} IS NOT NULL")
    return sa.Index(f"decisions_{column}", "investigation", column, sqlite_where=known, postgresql_where=known)


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
    sa.Column("registration", sa.Text, nullable=False),
    sa.Column("key", _Bytes, nullable=False),
    sa.Column("created", _big, nullable=False),
    # What changes with each batch: the categories met, positions given, the running counts and the latest time.
    sa.Column("categories", _json, nullable=False),
    sa.Column("decided", _big, nullable=False),
    sa.Column("labelled", _big, nullable=False),
    sa.Column("counts", _json, nullable=False),
    sa.Column("time", _big, nullable=False),
    sqlite_autoincrement=True,
)
decisions = sa.Table(
    "decisions",
    metadata,
    _of(),
    sa.Column("position", _big, primary_key=True, autoincrement=False),
    sa.Column("event", _Bytes, nullable=False),
    sa.Column("person", _Bytes),
    sa.Column("training", sa.Boolean, nullable=False),
    sa.Column("content", _Bytes, nullable=False),
    # The true label, and its position among all labels, once it is known.
    sa.Column("label", sa.Float),
    sa.Column("labelled", _big),
    sa.Index("decisions_event", "investigation", "event", unique=True),
    _index_of_known("person"),
    _index_of_known("labelled"),
    sqlite_with_rowid=False,
)
batches = sa.Table(
    "batches",
    metadata,
    sa.Column("id", _id().with_variant(_big, "postgresql"), primary_key=True),
    _of(primary_key=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("body", _Bytes),
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
)
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", _id, primary_key=True),
    _of(primary_key=False),
    sa.Column("body", _json, nullable=False),
    sa.Column("attempts", _id, nullable=False),
    sa.Column("due", _big),  # none: delivered, or given up
    sa.Column("answer", sa.Text),
    sqlite_autoincrement=True,
)

_set_label = sa.update(decisions).where(
    decisions.c.investigation == sa.bindparam("of"), decisions.c.position == sa.bindparam("at")
)

_registered = lru_cache(Registration.model_validate_json)  # it never changes


class Investigation(NamedTuple):
    """What is registered, the secret key of its split, and its stored row at some moment."""

    registration: Registration
    key: bytes
    row: sa.Row


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
            waits = {"connect_timeout": SECONDS_TO_WAIT}
            self.engine = sa.create_engine(self.url, pool_size=40, pool_pre_ping=True, connect_args=waits, **ENGINE)
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
    def claim_looks(self) -> Iterator[bool]:
        """Say whether it is this server that looks: one of those on a PostgreSQL, until its transaction ends."""
        if self.is_sqlite:
            yield True
        else:
            with self.engine.begin() as connection:
                yield connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(LOOK_LOCK)))

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
        found = next(iter(self._all(sa.select(tokens.c.id, tokens.c.role).where(*same))), None)
        return found if found and str(found.id) == number else None

    def token_list(self) -> list[dict]:
        """Return all tokens without their hashes."""
        columns = [column for column in tokens.c if column.name != "hash"]
        return [row._asdict() for row in self._all(sa.select(*columns).order_by(tokens.c.id))]

    def revoke_token(self, number: int) -> bool:
        """Revoke a token; return whether there is one that was not revoked."""
        query = sa.update(tokens).where(tokens.c.id == number, tokens.c.revoked.is_(None)).values(revoked=self.now())
        return self._change(query).rowcount == 1

    # Investigations

    def register(self, registration: Registration) -> int:
        """Store an investigation and return its number."""
        query = sa.insert(investigations).values(
            registration=registration.model_dump_json(),
            key=secrets.token_bytes(32),
            created=self.now(),
            categories={name: column.labels or [] for name, column in registration.columns.items()},
            decided=0,
            labelled=0,
            counts={},
            time=self.now(),
        )
        return self._change(query).inserted_primary_key[0]

    def investigation(self, number: int) -> Investigation:
        """Return an investigation; a RefusedError if there is none of this number."""
        with self.read() as connection:
            row = self.row(connection, number)
        return Investigation(_registered(row.registration), row.key, row)

    def row(self, connection, number: int, *, lock: bool = False) -> sa.Row:
        """Return the stored row of an investigation; a RefusedError if there is none."""
        query = sa.select(investigations).where(investigations.c.id == number)
        row = connection.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise RefusedError(404, f"no investigation {number}")
        return row

    def numbers(self) -> list[int]:
        """Return the numbers of all investigations."""
        return [number for (number,) in self._all(sa.select(investigations.c.id).order_by(investigations.c.id))]

    def delete_investigation(self, number: int) -> None:
        """Delete an investigation with all that belongs to it."""
        with self.write() as connection:
            self.row(connection, number, lock=True)
            for table in (decisions, batches, looks, deliveries):
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
        registration, secret, _ = self.investigation(number)
        rows = registration.check(kind, rows)
        events, first = keyed(secret, b"event ", [row[EVENT] for row in rows]), {}
        for event, row in zip(events, rows, strict=True):
            first.setdefault(event, row)
        with self.write() as connection:
            before = self.row(connection, number, lock=True)  # one batch of an investigation at a time
            if key is not None:
                same = (batches.c.investigation == number, batches.c.kind == kind, batches.c.key == key)
                if earlier := connection.execute(sa.select(batches).where(*same)).first():
                    if earlier.body != body:
                        raise RefusedError(422, f"the key was used for a batch with another body ({kind})")
                    return earlier.answer
            decided, labelled, categories = before.decided, before.labelled, before.categories
            mine = decisions.c.investigation == number
            # By their positions: else SQLite may read all rows of the investigation rather than the index of events.
            places = sa.select(decisions.c.position).where(mine, decisions.c.event.in_(list(first))).correlate(None)
            of = (decisions.c.event, decisions.c.position, decisions.c.content, decisions.c.labelled)
            found = connection.execute(sa.select(*of).where(mine, decisions.c.position.in_(places)))
            known = {row.event: row for row in found}
            if kind == "decisions":
                new = [event for event in first if event not in known]
                kept = [first[event] for event in new]
                content = _encoded(registration, kept, categories)
                columns = {
                    "investigation": [number] * len(new),
                    "position": range(decided + 1, decided + 1 + len(new)),
                    "event": new,
                    "person": keyed(secret, b"person ", [row.get(PERSON) for row in kept]),
                    "training": for_training(new, registration.train_size).tolist(),
                    "content": content.view(f"V{content.itemsize}").tolist(),
                }
                decided += len(new)
            else:
                new = [event for event in first if event in known and known[event].labelled is None]
                kept = [first[event] for event in new]
                content = np.frombuffer(b"".join(known[event].content for event in new), registration.dtype)
                columns = {"of": [number] * len(new), "at": [known[event].position for event in new]}
            true = _true_labels(registration, kept)
            given = ~np.isnan(true)
            columns["label"] = np.where(given, true, None)
            columns["labelled"] = np.where(given, labelled + np.cumsum(given), None)
            if new:
                stored = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
                connection.execute(sa.insert(decisions) if kind == "decisions" else _set_label, stored)
            counted = given if registration.true_label else slice(None)
            hits = indicators(registration, content[counted], true[counted])
            after = {
                "decided": decided,
                "counts": add_counts(before.counts, registration, content[counted], hits),
                "time": max(self.now(), before.time),  # also where the clock was set back
            }
            n_unknown = 0 if kind == "decisions" else sum(event not in known for event in events)
            answer = {"received": len(rows), "new": len(new), "repeated": len(rows) - len(new) - n_unknown}
            answer |= {} if kind == "decisions" else {"unknown": n_unknown}
            batch = {"investigation": number, "kind": kind, "key": key, "body": body, "answer": answer}
            connection.execute(sa.insert(batches).values(batch | after))
            after |= {"labelled": labelled + int(given.sum()), "categories": categories}
            connection.execute(sa.update(investigations).where(investigations.c.id == number).values(after))
        return answer

    def rows(self, connection, number: int, until: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows up to a position, in order: positions, which are for training, contents and true labels.

        With true labels the order is that of the labels.
        """
        registration = self.investigation(number).registration
        order = _order(registration)
        query = sa.select(order, decisions.c.training, decisions.c.content, decisions.c.label)
        query = query.where(decisions.c.investigation == number, order <= until).order_by(order)
        kinds = {"position": int, "training": bool, "content": f"V{registration.dtype.itemsize}", "label": float}
        with connection.execution_options(yield_per=AT_ONCE).execute(query) as result:
            found = np.fromiter(map(tuple, result), list(kinds.items()))
        return found["position"], found["training"], found["content"].copy().view(registration.dtype), found["label"]

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
            self.row(connection, number, lock=True)
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
        (registration, _, row), past = self.investigation(number), self.look_list(number)
        if past and past[-1].state == RUNNING:
            raise RefusedError(409, f"look {past[-1].number} is not finished")
        until = row.labelled if registration.true_label else row.decided
        after, latest = (past[-1].until, past[-1].started) if past else (0, row.created)
        every = registration.look_every
        waited = self.now() - latest  # less than nothing if the clock was set back
        is_early = until - after < every.rows if every.rows else 0 <= waited < every.seconds * 1000
        if is_early and not is_wanted:
            raise RefusedError(409, "the next look is not due")
        self._check_enough(number, registration, after, until)
        alpha, largest = 1 - registration.confidence_level, [one.largest_p_value for one in past]
        is_adaptive = registration.spending == "adaptive"
        query = sa.insert(looks).values(
            investigation=number,
            number=len(past) + 1,
            state=RUNNING,
            level=adaptive_level(largest, alpha) if is_adaptive else look_level(len(past) + 1, alpha),
            after=after,
            until=until,
            attempts=0,
            started=self.now(),
        )
        try:
            with self.write() as connection:
                self.row(connection, number, lock=True)
                connection.execute(query)
        except sa.exc.IntegrityError:
            raise RefusedError(409, f"look {len(past) + 1} is not finished") from None
        return len(past) + 1

    def _check_enough(self, number, registration, after, until) -> None:
        """Refuse a look whose training set or fresh test set is too small."""
        order = _order(registration)
        fresh = (order > after) & ~decisions.c.training
        needed = max(registration.min_leaf_size, registration.smallest_cell)
        for what, which in (("training set", ~fresh), ("fresh test set", fresh)):
            some = sa.select(order).where(decisions.c.investigation == number, order <= until, which).limit(needed)
            ((found,),) = self._all(sa.select(sa.func.count()).select_from(some.subquery()))
            if found < needed:
                raise RefusedError(409, f"{what}: expected at least {needed} rows, found {found}")

    def running_look(self) -> tuple[int, int] | None:
        """Return investigation and number of a look that is not finished, if there is one."""
        query = sa.select(looks.c.investigation, looks.c.number).where(looks.c.state == RUNNING)
        return next(map(tuple, self._all(query.order_by(looks.c.started))), None)

    def begin_look(self, number: int, look: int) -> sa.Row:
        """Count one attempt more at a look and return it."""
        where = (looks.c.investigation == number, looks.c.number == look, looks.c.state == RUNNING)
        query = sa.update(looks).where(*where).values(attempts=looks.c.attempts + 1).returning(*looks.c)
        with self.write() as connection:
            return connection.execute(query).one()

    def finish_look(self, begun: sa.Row, state: str, report: dict, largest_p_value=1.0, notice=None) -> bool:
        """Store the result of a look, and the notice that its webhook is to get, unless a later attempt began.

        A look that failed counts as one with a large p-value, which is the safe side of the adaptive rule.
        """
        same = (*looks.primary_key, looks.c.attempts, looks.c.state)
        query = sa.update(looks).where(*(column == getattr(begun, column.name) for column in same))
        query = query.values(state=state, report=report, largest_p_value=largest_p_value, finished=self.now())
        with self.write() as connection:
            is_ours = connection.execute(query).rowcount == 1
            if is_ours and notice:
                values = {"investigation": begun.investigation, "body": notice, "attempts": 0, "due": self.now()}
                connection.execute(sa.insert(deliveries).values(values))
        return is_ours

    # Notices

    def next_delivery(self) -> sa.Row | None:
        """Return a notice that is due, if there is one, and count one attempt more; nobody else sends it meanwhile."""
        due = sa.select(deliveries.c.id).where(deliveries.c.due <= self.now()).order_by(deliveries.c.due).limit(1)
        query = sa.update(deliveries).where(deliveries.c.id == due.with_for_update(skip_locked=True).scalar_subquery())
        query = query.values(attempts=deliveries.c.attempts + 1, due=self.now() + SECONDS_TO_SEND * 1000)
        with self.write() as connection:
            return connection.execute(query.returning(*deliveries.c)).first()

    def end_delivery(self, number: int, answer: str, *, seconds: float | None) -> None:
        """Store what a webhook answered, and in how many seconds to try again; None if it is delivered or given up."""
        due = None if seconds is None else self.now() + int(seconds * 1000)
        self._change(sa.update(deliveries).where(deliveries.c.id == number).values(answer=answer, due=due))

    # Effects

    def batch_counts(self, number: int, start: int, end: int, bucket: int) -> list[tuple[int, dict]]:
        """Return the time and running counts of the last batch in each bucket of milliseconds that has one."""
        bucket_of = (batches.c.time - start) // bucket
        inside = (batches.c.investigation == number, batches.c.time >= start, batches.c.time < end)
        last = sa.select(sa.func.max(batches.c.id)).where(*inside).group_by(bucket_of)
        query = sa.select(batches.c.time, batches.c.counts).where(batches.c.id.in_(last)).order_by(batches.c.id)
        return list(map(tuple, self._all(query)))


def _order(registration: Registration) -> sa.Column:
    """Return the positions that order the rows of looks."""
    return decisions.c.labelled if registration.true_label else decisions.c.position


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _encoded(registration: Registration, rows: list[dict], categories: dict[str, list]) -> np.ndarray:
    """Return rows as they are stored; categories that are met first get the next codes."""
    content = np.zeros(len(rows), registration.dtype)
    for name, column in registration.stored.items():
        values = [row[name] for row in rows]
        if column.type == "category":
            known, met = categories[name], {None, *categories[name]}
            known += [value for value in dict.fromkeys(values) if value not in met]
            if len(known) > MOST_CATEGORIES:
                reason = f"more than {MOST_CATEGORIES} categories; group them"
                raise RefusedError(422, MISFIT, [error(None, name, reason)])
            values = _codes(values, known, MISSING)
        content[name] = values
    return content


def _true_labels(registration: Registration, rows: list[dict]) -> np.ndarray:
    """Return true labels as numbers, nan where one is missing or none is registered."""
    values, column = (
        [row.get(registration.true_label) for row in rows],
        registration.columns.get(registration.true_label),
    )
    if column and column.type == "category":
        values = _codes(values, column.categories, None)
    return np.array(values, dtype=float)


def _codes(values: list, categories: list[str], missing) -> list:
    codes = {label: code for code, label in enumerate(categories)} | {None: missing}
    return [codes[value] for value in values]


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
