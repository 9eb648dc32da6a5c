"""The database of a monitor: SQLite in one file, or PostgreSQL; the same tables in both.

A batch is one transaction. Rows are ordered by their position, which is counted for each investigation, never by a
clock. Event and person are stored as keyed hashes only, the registered columns as JSON.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa
from filelock import FileLock, Timeout

from fairlab.checks import check_choice
from fairlab.fairtest import adaptive_level, look_level
from fairlab.monitoring.effects import add_counts
from fairlab.monitoring.logs import log
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
    refuse,
)

AT_ONCE = 10_000  # rows of one fetch
SECONDS_TO_WAIT = 5  # for a locked database
WORK_LOCK, NOTICE_LOCK = 0x6661_6972, 0x6661_6974  # PostgreSQL's advisory locks for looks and for notices
HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
CLOCK_JUMP = 3 * HOUR  # deletions by age are one hour apart
CONFIRM = "if the clock is right now, run fairlab monitor confirm-clock"

RUNNING, DONE, FAILED = "running", "done", "failed"  # states of a look
ENGINE = {"json_serializer": partial(json.dumps, allow_nan=False), "hide_parameters": True, "max_overflow": 0}


class _Registered(sa.TypeDecorator):
    """A registration, stored as JSON; it never changes."""

    impl, cache_ok = sa.Text, True

    def process_bind_param(self, value, _):
        """Return the stored form of a registration."""
        return value.model_dump_json()

    def process_result_value(self, value, _):
        """Return the registration from its stored form."""
        return _registered(value)


_registered = lru_cache(1_000)(Registration.model_validate_json)
metadata = sa.MetaData()
_id, _big, _json = sa.Integer, sa.BigInteger, sa.JSON(none_as_null=True)
_is_due = sa.text("complete >= due_rows")


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
    # Columns that change with each batch: the categories found where none are declared, the number of decisions, the
    # number of rows for looks, the running counts and the latest time.
    sa.Column("categories", _json, nullable=False),
    sa.Column("decided", _big, nullable=False),
    sa.Column("complete", _big, nullable=False),
    sa.Column("counts", _json, nullable=False),
    sa.Column("time", _big, nullable=False),
    # Number of rows for looks, and time, from which the next look may be due; and time of the last deletion by age, up
    # to which the clock is trusted.
    sa.Column("due_rows", _big, nullable=False),
    sa.Column("due_time", _big, nullable=False),
    sa.Column("retained", _big, nullable=False),
    sa.Index("investigations_due", "due_time", sqlite_where=_is_due, postgresql_where=_is_due),
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
    # The position among the rows for looks: all rows, or those with a known true label, in the order of their labels.
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
    sa.Column("level", sa.Float, nullable=False),  # 0 if it ended without a report, which spends nothing
    sa.Column("after", _big, nullable=False),  # rows up to here were tested, and are released for training
    sa.Column("until", _big, nullable=False),  # the fresh test set ends here
    sa.Column("attempts", _id, nullable=False),
    sa.Column("started", _big, nullable=False),
    sa.Column("finished", _big),
    sa.Column("largest_p_value", sa.Float),
    sa.Column("report", _json),
    sa.Column("summary", _json),  # numbers of findings: all, and those that are new, gone, stronger or weaker
    # The notice to the webhook; it is not due if there is none, or it was delivered or given up.
    sa.Column("notice_due", _big),
    sa.Column("notice_attempts", _id, nullable=False),
    sa.Column("notice_answer", sa.Text),
)


class Store:
    """All access to the database.

    Parameters
    ----------
    url : str
        Such as ``sqlite:///monitor.db`` or ``postgresql://user@host/name``.
    clock : callable
        Seconds since 1970, as `time.time`.
    is_new : bool
        Whether the file may not exist yet.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ValueError
        If `url` is no address of an SQLite or PostgreSQL database.

    Attributes
    ----------
    read, write : callable
        Lend a connection for one transaction; with SQLite, that of `read` sees one state of the database.
    path : Path
        The file of SQLite.
    """

    def __init__(self, url: str, *, clock=time.time, is_new: bool = True):
        backend = url.partition(":")[0].partition("+")[0]
        check_choice(backend, "database", ("sqlite", "postgresql"))
        self.url, self.is_sqlite, self._clock = sa.make_url(url), backend == "sqlite", clock
        self.path = Path(self.url.database or "").resolve()  # one lock, whatever links lead to the file
        if self.is_sqlite:
            if self.url.database in (None, "", ":memory:") or self.url.query:
                raise ValueError("database: expected a file, as in sqlite:///monitor.db")
            if not is_new and not self.path.is_file():
                raise FileNotFoundError(f"no file {self.path}; name another with --database")
            self.url = self.url.set(database=str(self.path))
            self.engine = _sqlite(self.url, "BEGIN", pool_size=40, kilobytes=2_000)
            # One transaction at a time may write; others wait for its connection, which is fairer than SQLite's lock.
            self._writer = _sqlite(self.url, "BEGIN IMMEDIATE", pool_size=1, kilobytes=200_000)
        else:
            self.url = self.url.set(drivername="postgresql+psycopg")
            self._writer = self.engine = sa.create_engine(
                self.url, pool_size=40, pool_pre_ping=True, connect_args={"connect_timeout": SECONDS_TO_WAIT}, **ENGINE
            )
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
        """Lock a SQLite file until the context or the process ends; raise a RuntimeError if another server uses it."""
        if not self.is_sqlite:
            return nullcontext()
        if self.path.exists() and self.path.stat().st_nlink > 1:
            raise RuntimeError(f"database: expected a file with one name, found hard links to {self.path}")
        try:
            return FileLock(f"{self.path}.lock").acquire(blocking=False)
        except Timeout:
            raise RuntimeError(f"another server uses {self.path}; several can share a PostgreSQL database") from None

    @contextmanager
    def claim_work(self, lock: int = WORK_LOCK) -> Iterator[bool]:
        """Yield whether this server takes looks or sends notices; of several on one PostgreSQL, one at a time does."""
        with self.read() as connection:
            yield self.is_sqlite or connection.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(lock)))

    # Tokens

    def create_token(self, role: str, name: str = "") -> str:
        """Store a new token's hash and return the token, which is shown this once."""
        secret = secrets.token_urlsafe(32)
        query = sa.insert(tokens).values(name=name, role=role, hash=_digest(secret), created=self.now())
        (number,) = self._change(query).inserted_primary_key
        return f"{number}.{secret}"

    def token(self, text: str) -> sa.Row | None:
        """Return number and role of a token; None if it is unknown or revoked."""
        number, _, secret = text.partition(".")
        same = (tokens.c.hash == _digest(secret), tokens.c.revoked.is_(None))
        found = self._all(sa.select(tokens.c.id, tokens.c.role).where(*same))
        return next((one for one in found if str(one.id) == number), None)  # PostgreSQL may refuse the text

    def token_list(self) -> list[sa.Row]:
        """Return all tokens, hashed."""
        return self._all(sa.select(tokens).order_by(tokens.c.id))

    def revoke_token(self, number: int) -> bool:
        """Revoke a token; return whether it existed and was not revoked before."""
        query = sa.update(tokens).where(tokens.c.id == number, tokens.c.revoked.is_(None)).values(revoked=self.now())
        return self._change(query).rowcount == 1

    # Investigations

    def register(self, registration: Registration) -> int:
        """Store an investigation and return its number."""
        now, every = self.now(), registration.look_every
        query = sa.insert(investigations).values(
            registration=registration,
            key=secrets.token_bytes(32),
            created=now,
            categories={
                name: []
                for name, column in registration.columns.items()
                if column.type == "category" and not column.categories
            },
            decided=0,
            complete=0,
            counts={},
            time=now,
            due_rows=1,
            due_time=now + 1000 * every["seconds"] if "seconds" in every else 0,
            retained=now,
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
        refuse(not found, 404, f"no investigation {number}")
        return found[0]

    def overview(self, number: int | None = None, *, after: int = 0, limit: int | None = None) -> list[sa.Row]:
        """Return one investigation, or those after a number, with the number of looks and the last successful look."""
        of, own = investigations.c, looks.c.investigation == investigations.c.id
        n_looks, last = (
            sa.select(function).where(own, *which).correlate(investigations).scalar_subquery()
            for function, *which in ((sa.func.count(),), (sa.func.max(looks.c.number), looks.c.state == DONE))
        )
        shown = (of.id, of.registration, of.created, of.decided, of.complete, looks.c.finished, looks.c.summary)
        query = sa.select(*shown, n_looks.label("n_looks")).outerjoin(looks, own & (looks.c.number == last))
        query = query.order_by(of.id).limit(limit)
        found = self._all(query.where(of.id > after if number is None else of.id == number))
        return found if found or number is None else [self.investigation(number)]

    def delete_investigation(self, number: int) -> None:
        """Delete an investigation with all that belongs to it."""
        of_it = (batches.c.investigation, looks.c.investigation, investigations.c.id)
        self._delete(number, sa.true(), *(sa.delete(column.table).where(column == number) for column in of_it))

    # Rows

    def add(self, kind: str, number: int, rows: Iterable, key: str | None = None, body: bytes = b"") -> dict[str, int]:
        """Store the new rows of a batch, all or none, and return how many rows were received, new and repeated.

        Labels of events that are not stored are not kept; they are counted as unknown.

        Parameters
        ----------
        kind : {"decisions", "labels"}
        number : int
        rows : iterable of dict
        key : str or None
            A repeated key with the same body gets the same answer as before.
        body : bytes
            Hash of the body.

        Raises
        ------
        RefusedError
            If a row does not fit, an event has other content than before, or the key was used with another body.
        """
        registered, is_labels = self.investigation(number), kind == "labels"
        registration, true_label = registered.registration, registered.registration.true_label
        rows, blank = registration.check(kind, rows), dict.fromkeys(registration.columns)
        events = keyed(registered.key, b"event ", [row[EVENT] for row in rows])
        people = keyed(registered.key, b"person ", [row.get(PERSON) for row in rows])
        with self.write() as connection:
            before = self.investigation(number, lock=connection)  # one batch of an investigation at a time
            same = (
                batches.c.investigation == number,
                batches.c.kind == kind,
                batches.c.key == sa.literal(key, sa.Text),
            )
            if earlier := connection.execute(sa.select(batches).where(*same)).first():
                refuse(earlier.body != body, 422, f"the key was used for a batch with another body ({kind})")
                return earlier.answer
            mine = decisions.c.investigation == number
            # By position: otherwise SQLite may read all rows of the investigation instead of the index of events.
            places = sa.select(decisions.c.position).where(mine, decisions.c.event.in_(set(events))).correlate(None)
            query = sa.select(decisions).where(mine, decisions.c.position.in_(places))
            known = {row.event: row for row in connection.execute(query)}
            contents = {event: json.loads(row.content) for event, row in known.items()}
            # Content of each event, first the stored content; in a batch of labels, only of events with known labels.
            stored = {
                event: (None if is_labels else row.person, contents[event])
                for event, row in known.items()
                if not is_labels or row.complete is not None
            }
            stands, conflicts = dict(stored), []
            for place, (event, person, row) in enumerate(zip(events, people, rows, strict=True)):
                # A true label may have come meanwhile.
                said = {name: of for name, of in row.items() if name in blank and (name, of) != (true_label, None)}
                whole = (person, contents.get(event, blank) | said)
                if stands.setdefault(event, whole) != whole:
                    conflicts.append(error(place, EVENT, "was used for other content, stored or earlier in the batch"))
            refuse(conflicts, 409, "an event id was used for other content; nothing of the batch is stored", conflicts)
            new = [event for event in stands if event not in stored and (event in known) == is_labels]
            if is_labels:  # the labels of one batch arrive at once, in any order
                new.sort(key=lambda event: known[event].position)
            kept = [stands[event][1] for event in new]
            met = {name: {*names, *(row[name] for row in kept)} - {None} for name, names in before.categories.items()}
            many = [
                error(None, name, f"more than {MOST_CATEGORIES} categories; group them")
                for name, several in met.items()
                if len(several) > MOST_CATEGORIES
            ]
            refuse(many, 422, MISFIT, many)
            is_complete = np.array([true_label is None or row[true_label] is not None for row in kept], dtype=bool)
            complete = np.where(is_complete, before.complete + np.cumsum(is_complete), None)
            training = for_training(new, registration.train_size).tolist()
            added = [
                {"position": before.decided + 1 + k, "person": stands[event][0], "training": training[k]}
                | (known[event]._asdict() if is_labels else {"investigation": number, "event": event})
                | {"content": json.dumps(kept[k]), "complete": complete[k]}
                for k, event in enumerate(new)
            ]
            if is_labels:  # rows with labels replace those without
                replaced = [row["position"] for row in added]
                connection.execute(sa.delete(decisions).where(mine, decisions.c.position.in_(replaced)))
            if new:
                connection.execute(sa.insert(decisions), added)
            unknown = {"unknown": sum(event not in known for event in events)} if is_labels else {}
            n_repeated = len(rows) - len(new) - sum(unknown.values())
            answer = {"received": len(rows), "new": len(new), "repeated": n_repeated} | unknown
            after = {
                "decided": before.decided + (0 if is_labels else len(new)),
                "counts": add_counts(before.counts, registration, as_table(registration, kept)[is_complete]),
                "time": max(self.now(), before.retained),  # if the clock was set back, the last deletion's
            }
            connection.execute(
                sa.insert(batches).values(investigation=number, kind=kind, key=key, body=body, answer=answer, **after)
            )
            after |= {
                "complete": before.complete + int(is_complete.sum()),
                "categories": {name: sorted(several) for name, several in met.items()},
            }
            connection.execute(sa.update(investigations).where(investigations.c.id == number).values(after))
        return answer

    def rows(self, connection, number: int, until: int, after: int = 0) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
        """Return the rows for looks up to the position `until`, in the order of their labels.

        Rows up to the position `after` were tested before, and are for training, too.

        Returns
        -------
        train : ndarray of bool
            Whether each row is for training.
        table : DataFrame
        order : ndarray of int
            Positions of the rows in the order of decisions.
        """
        is_released = sa.or_(decisions.c.training, decisions.c.complete <= after)
        query = (
            sa.select(is_released.label("train"), decisions.c.content, decisions.c.position)
            .where(decisions.c.investigation == number, decisions.c.complete <= until)
            .order_by(decisions.c.complete)
        )
        parts, order = [], []
        for part in pd.read_sql(query, connection.execution_options(yield_per=AT_ONCE), chunksize=AT_ONCE):
            parts.append(pd.DataFrame(map(json.loads, part["content"]), index=part["train"]))
            order.append(part["position"].to_numpy())
        found, registration = pd.concat(parts), self.investigation(number).registration
        return found.index.to_numpy(bool), as_table(registration, found.reset_index(drop=True)), np.concatenate(order)

    def persons(self, connection, number: int, until: int, after: int = 0) -> tuple[int, int]:
        """Return how many rows that a look tests name a person, and the number of different persons."""
        query = sa.select(sa.func.count(decisions.c.person), sa.func.count(decisions.c.person.distinct())).where(
            decisions.c.investigation == number,
            decisions.c.complete > after,
            decisions.c.complete <= until,
            ~decisions.c.training,
        )
        return tuple(connection.execute(query).one())

    def n_deleted(self, connection, number: int, until: int, after: int = 0) -> int:
        """Return how many of the rows that arrived for a look were deleted before it."""
        of = decisions.c
        there = sa.select(sa.func.count()).where(of.investigation == number, of.complete > after, of.complete <= until)
        return until - after - connection.scalar(there)

    def delete_person(self, number: int, person: str) -> int:
        """Delete the rows of a person and return how many there were; counts and reports stay."""
        (wanted,) = keyed(self.investigation(number).key, b"person ", [person])
        return self._delete(number, decisions.c.person == wanted)

    def retain(self, *, may_have_paused: bool = True) -> int:
        """Delete rows after their investigation's retention period, and old batches; return the number of rows.

        Deletions are an hour apart; if not, the clock was set, or the monitor was down if it may have paused. Then at
        most half of an investigation's rows are deleted. A refused deletion is logged, and done once the clock is right
        again or confirmed. Of batches whose keys are no longer remembered, one an hour is kept.
        """
        now, deleted, refused, of = self.now(), 0, [], investigations.c
        for number, registration, retained in self._all(sa.select(of.id, of.registration, of.retained)):
            try:
                _refuse_jump(retained - now if may_have_paused else abs(now - retained))
                if days := registration.retention_days:
                    deleted += self._delete_old(number, now - days * DAY, at_most_half=now - retained > CLOCK_JUMP)
            except RefusedError as reason:
                refused.append(number)
                log("no rows deleted by age", level="warning", investigation=number, reason=str(reason))
        own, end = batches.c.investigation.not_in(refused), now - DAY  # a batch and its key are remembered for a day
        is_old = own & batches.c.time.between(0 if may_have_paused else end // HOUR * HOUR - 2 * CLOCK_JUMP, end)
        hours = (batches.c.investigation, batches.c.time // HOUR)
        last = sa.select(sa.func.max(batches.c.id)).where(is_old).group_by(*hours)
        with self.write() as connection:
            connection.execute(sa.update(batches).where(own, batches.c.time > now).values(time=now))
            connection.execute(sa.delete(batches).where(is_old, batches.c.id.not_in(last)))
            connection.execute(sa.update(investigations).where(of.id.not_in(refused)).values(retained=now))
        self._empty_log()
        log("rows deleted by age", rows=deleted)
        return deleted

    def _delete_old(self, number, before, *, at_most_half) -> int:
        which = decisions.c.position <= (
            sa.select(sa.func.max(batches.c.decided))
            .where(batches.c.investigation == number, batches.c.time < before)
            .scalar_subquery()
        )
        counts = sa.select(sa.func.count().filter(which), sa.func.count()).where(decisions.c.investigation == number)
        n_old, n_rows = self._all(counts)[0] if at_most_half else (0, 0)
        refuse(
            n_old > n_rows / 2,
            409,
            f"{n_old:,} of {n_rows:,} rows would be deleted at once, after a pause or a change of the clock; {CONFIRM}",
        )
        return self._delete(number, which)

    def confirm_clock(self) -> None:
        """Trust the clock: stored times that are later than now become now, and rows may be deleted by age."""
        now, of = self.now(), investigations.c
        with self.write() as connection:
            connection.execute(sa.update(investigations).values(retained=now))
            for column in (of.created, of.due_time, of.time, batches.c.time, looks.c.started, looks.c.notice_due):
                connection.execute(sa.update(column.table).where(column > now).values({column: now}))

    def _delete(self, number, which, *others) -> int:
        """Delete rows of an investigation, run the other queries, and return the number of deleted rows."""
        with self.write() as connection:
            self.investigation(number, lock=connection)
            mine = sa.delete(decisions).where(decisions.c.investigation == number, which)
            deleted, *_ = [connection.execute(query).rowcount for query in (mine, *others)]
        if deleted:
            self._empty_log()
        return deleted

    def _empty_log(self) -> None:
        """Remove deleted rows from SQLite's log, too; while a connection reads them, that is left to `retain`."""
        if self.is_sqlite:
            with self._writer.connect() as connection:
                connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Looks

    def look_list(self, number: int) -> list[sa.Row]:
        """Return the looks of an investigation in order, without their reports."""
        self.investigation(number)
        return self._all(_looks_of(number))

    def report(self, number: int, look: int | None = None) -> sa.Row | None:
        """Return a look with its report; by default the last successful one, or None.

        Raises
        ------
        RefusedError
            If there is none of this number.
        """
        which = looks.c.state == DONE if look is None else looks.c.number == look
        query = sa.select(looks).where(looks.c.investigation == number, which).order_by(looks.c.number.desc()).limit(1)
        found = next(iter(self._all(query)), None)
        refuse(look and not found, 404, f"no look {look} of investigation {number}")
        return found

    def due_looks(self) -> list[int]:
        """Return the investigations whose next look may be due; by time only if the clock has not jumped."""
        now, of = self.now(), investigations.c
        is_time = sa.or_(of.due_time == 0, of.due_time.between(1, now) & of.retained.between(now - CLOCK_JUMP, now))
        return [number for (number,) in self._all(sa.select(of.id).where(_is_due, is_time).order_by(of.due_time))]

    def plan_look(self, number: int, *, is_wanted: bool = False) -> int:
        """Fix the rows and the level of the next look if it is due, or wanted now, and return its number.

        Whether there is a look and where it ends depends on numbers of rows and on time only. By rows, it ends at the
        first multiple of the registered number that has enough rows, however many have arrived since. A postponed look
        spends nothing.

        Raises
        ------
        RefusedError
            If it is not due, the last one is not finished, there are too few rows, or the clock was set back.
        """
        with self.write() as connection:
            found, now = self.investigation(number, lock=connection), self.now()
            past, registration = connection.execute(_looks_of(number)).all(), found.registration
            refuse(past and past[-1].state == RUNNING, 409, f"look {len(past)} is not finished")
            last, latest = (past[-1].until, past[-1].started) if past else (0, found.created)
            tested = [one for one in past if one.level]  # others spent nothing: their rows are still fresh
            after, needed = (
                tested[-1].until if tested else 0,
                max(registration.min_leaf_size, registration.smallest_cell),
            )
            step, pause = (registration.look_every.get(unit, 0) for unit in ("rows", "seconds"))
            _refuse_jump(latest - now if pause else 0)
            fresh = (decisions.c.complete > after) & ~decisions.c.training
            sets = {"training set": ~fresh, "fresh test set": fresh}
            first = sa.select(decisions.c.complete).order_by(decisions.c.complete).limit(needed)
            first = first.where(decisions.c.investigation == number, decisions.c.complete.is_not(None))  # with labels
            places = {name: connection.scalars(first.where(which)).all() for name, which in sets.items()}
            short = [
                f"{name}: expected at least {needed} rows, found {len(of)}"
                for name, of in places.items()
                if len(of) < needed
            ]
            until, due_time = found.complete, latest + 1000 * pause if pause else 0
            if step and not is_wanted:  # at the first multiple with enough rows
                enough = max((of[-1] for of in places.values() if of), default=0)
                until = last + max(-(-(enough - last) // step), 1) * step
            is_early = not is_wanted and (until > found.complete or now < due_time)
            refused = "the next look is not due" if is_early else next(iter(short), None)
            due_rows = max(until, found.complete + 1) if short else until
            if not refused:
                alpha, largest = 1 - registration.confidence_level, [one.largest_p_value for one in tested]
                planned = {
                    "investigation": number,
                    "number": len(past) + 1,
                    "state": RUNNING,
                    "level": adaptive_level(largest, alpha)
                    if registration.spending == "adaptive"
                    else look_level(1 + len(tested), alpha),
                    "after": after,
                    "until": until,
                    "attempts": 0,
                    "started": now,
                    "notice_attempts": 0,
                }
                connection.execute(sa.insert(looks).values(planned))
                due_rows, due_time = until + (step or 1), now + 1000 * pause if pause else 0
            connection.execute(
                sa.update(investigations)
                .where(investigations.c.id == number)
                .values(due_rows=due_rows, due_time=due_time)
            )
        refuse(refused, 409, refused)
        return len(past) + 1

    def running_looks(self) -> list[tuple[int, int]]:
        """Return investigation and number of each look that is not finished, the least tried first."""
        query = sa.select(looks.c.investigation, looks.c.number).where(looks.c.state == RUNNING)
        return list(map(tuple, self._all(query.order_by(looks.c.attempts, looks.c.started))))

    def change_look(self, of: sa.Row, **values) -> sa.Row | None:
        """Change a look unless another attempt began or ended meanwhile, and return the changed look."""
        same = (column == of._mapping[column.name] for column in (*looks.primary_key, looks.c.attempts, looks.c.state))
        with self.write() as connection:
            return connection.execute(sa.update(looks).where(*same).values(values).returning(*looks.c)).first()

    def due_notices(self, n_most: int) -> list[sa.Row]:
        """Return looks whose notices are due, the oldest first."""
        query = sa.select(looks).where(looks.c.notice_due <= self.now()).order_by(looks.c.notice_due).limit(n_most)
        return self._all(query)

    def look_states(self) -> dict[str, int]:
        """Return the number of looks in each state, 0 included."""
        query = sa.select(looks.c.state, sa.func.count()).group_by(looks.c.state)
        return dict.fromkeys((RUNNING, DONE, FAILED), 0) | dict(map(tuple, self._all(query)))

    # Effects

    def batch_counts(self, number: int, start: int, end: int, bucket: int, origin: int) -> list[tuple[int, dict]]:
        """Return time and running counts of the last batch in each bucket of milliseconds, counted from the origin.

        Batches with a later time than a subsequent one, because the clock was set back, are left out.
        """
        inside = (batches.c.investigation == number, batches.c.time >= start, batches.c.time < end)
        last = sa.select(sa.func.max(batches.c.id)).where(*inside).group_by((batches.c.time - origin) // bucket)
        query = sa.select(batches.c.time, batches.c.counts).where(batches.c.id.in_(last))
        moments: list[tuple[int, dict]] = []
        for moment in map(tuple, self._all(query.order_by(batches.c.id.desc()))):
            if not moments or moment[0] < moments[-1][0]:
                moments.append(moment)
        return moments[::-1]


def _looks_of(number: int) -> sa.Select:
    """Return the query of all looks without their reports, which are large."""
    shown = (column for column in looks.c if column is not looks.c.report)
    return sa.select(*shown).where(looks.c.investigation == number).order_by(looks.c.number)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _refuse_jump(milliseconds: int) -> None:
    refuse(milliseconds > CLOCK_JUMP, 409, f"the clock jumped by {milliseconds // HOUR:,} hours; {CONFIRM}")


def _sqlite(url: sa.URL, begin: str, *, pool_size: int, kilobytes: int) -> sa.Engine:
    """Return an engine whose transactions start with `begin`, with a cache of some size for each connection."""
    engine = sa.create_engine(
        url,
        pool_size=pool_size,
        connect_args={"timeout": SECONDS_TO_WAIT, "isolation_level": None},  # otherwise transactions begin implicitly
        **ENGINE,
    )
    settings = (
        f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA cache_size=-{kilobytes}"
    )
    sa.event.listen(engine, "connect", lambda connection, _: connection.executescript(settings))
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine
