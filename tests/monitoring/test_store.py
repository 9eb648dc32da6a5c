"""What is stored: once, in order, as acknowledged, whatever the clock says; deletion, retention, backup, migrations."""

import errno
import gzip
import hashlib
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from unittest import mock

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from monitoring.streams import Monitor, decisions

from fairlab.cli import main
from fairlab.monitoring import migrations
from fairlab.monitoring.backup import backup, restore
from fairlab.monitoring.registration import RefusedError
from fairlab.monitoring.scheduler import delete_by_age
from fairlab.monitoring.store import Store, batches, metadata
from fairlab.monitoring.store import decisions as stored_decisions

ERRORS = {
    "kind": "error profiling",
    "columns": {
        "sex": {"type": "category", "categories": ["f", "m"]},
        "town": {"type": "category"},
        "age": {"type": "number"},
        "offer": {"type": "boolean"},
        "truth": {"type": "boolean"},
    },
    "true_label": "truth",
}


def contents(store):
    """Return all that is stored, table by table."""
    with store.read() as connection:
        return {
            name: connection.execute(sa.select(table).order_by(*table.primary_key)).all()
            for name, table in metadata.tables.items()
        }


def counts(store, number):
    return store.investigation(number).counts


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(st.lists(st.integers(0, 30), max_size=12), min_size=1, max_size=6))
def test_every_event_is_stored_and_counted_once_however_batches_repeat_it(monitor, sent):
    pool, number = decisions(31), monitor.register()
    seen = set()
    for events in sent:
        answer = monitor.send(number, [pool[event] for event in events]).json()
        new = len(set(events) - seen)
        seen |= set(events)
        assert answer == {"received": len(events), "new": new, "repeated": len(events) - new}
    people = counts(monitor.store, number).get("sex", [[0, 0], [0, 0]])
    expected = [[row["sex"] for row in map(pool.__getitem__, seen)].count(sex) for sex in "fm"]
    assert [group[0] for group in people] == expected


@pytest.mark.parametrize("change", [{"age": 17}, {"person": "b"}, {"offer": None}])
def test_an_event_that_stands_for_other_content_is_a_conflict_that_is_named(monitor, change):
    rows, number = [row | {"person": "a"} for row in decisions(3)], monitor.register()
    other = rows[1] | {name: not rows[1]["offer"] if name == "offer" else value for name, value in change.items()}
    assert monitor.send(number, [rows[0], rows[1], other]).status_code == 409  # in one batch
    assert monitor.send(number, rows[:2]).json() == {"received": 2, "new": 2, "repeated": 0}
    before = contents(monitor.store)
    answer = monitor.send(number, [rows[2], other])
    assert answer.status_code == 409 and contents(monitor.store) == before
    assert [(one["row"], one["column"]) for one in answer.json()["errors"]] == [(1, "event_id")]
    assert monitor.send(number, rows).json() == {"received": 3, "new": 1, "repeated": 2}


def test_another_true_label_is_a_conflict_and_the_decision_may_come_again_without_it(monitor):
    number, rows = monitor.register(**ERRORS), decisions(4)
    labelled = [row | {"truth": True} for row in rows]
    labels = [{"event_id": row["event_id"], "truth": row["truth"]} for row in labelled]
    monitor.send(number, [*rows[:2], labelled[2]])
    assert monitor.send(number, labels[:1], kind="labels").json()["new"] == 1
    assert monitor.send(number, rows[:3]).json()["repeated"] == 3
    assert monitor.send(number, [labelled[0], labelled[2]]).json()["repeated"] == 2
    assert monitor.send(number, [labelled[1]]).status_code == 409  # labels have an address of their own
    assert monitor.send(number, [labels[0] | {"truth": False}], kind="labels").status_code == 409
    assert monitor.send(number, [labels[1], labels[1] | {"truth": False}], kind="labels").status_code == 409
    assert monitor.send(number, labels[:2], kind="labels").json()["repeated"] == 1


def test_the_same_key_gets_the_same_answer_and_is_refused_with_another_body(monitor):
    rows, number = decisions(20), monitor.register()
    first = monitor.send(number, rows, key="a")
    assert monitor.send(number, rows, key="a").json() == first.json() == {"received": 20, "new": 20, "repeated": 0}
    assert monitor.send(number, rows[:5], key="a").status_code == 422
    assert monitor.send(monitor.register(), rows[:5], key="a").json()["new"] == 5  # keys are of one investigation


def test_nothing_of_a_batch_is_kept_if_one_row_does_not_fit_or_the_disk_is_full(monitor):
    number = monitor.register()
    before = contents(monitor.store)
    assert monitor.send(number, [*decisions(50), {"event_id": "x"}]).status_code == 422
    with monitor.store.write() as connection:  # as if the disk were full
        size = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {size + 2}")
    full = monitor.send(number, decisions(5000), key="k")
    assert (full.status_code, full.headers["retry-after"]) == (503, "2")
    assert contents(monitor.store) == before
    with monitor.store.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert monitor.send(number, decisions(5000), key="k").json()["new"] == 5000


def test_a_locked_database_is_answered_by_503_and_takes_the_batch_later(monitor, monkeypatch):
    number = monitor.register()
    with monitor.store.write() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(monitor.store.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert monitor.send(number, decisions(10)).status_code == 503
    assert monitor.send(number, decisions(10)).json()["new"] == 10


def test_a_database_is_for_its_owner_only_and_of_a_known_kind(monitor):
    assert monitor.store.path.stat().st_mode & 0o777 == 0o600
    for url in ("mysql://a/b", "nothing", "sqlite://", f"sqlite:///file:{monitor.store.path}?uri=true"):
        with pytest.raises(ValueError, match="database: expected"):
            Store(url)


def test_two_servers_on_one_file_are_refused(monitor):
    with monitor.store.claim_file(), pytest.raises(RuntimeError, match="another server uses"):
        Store(str(monitor.store.url)).claim_file()
    with monitor.store.claim_file():
        pass


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_two_servers_on_one_file_are_refused_by_whatever_name_it_has(monitor, tmp_path, link):
    getattr(tmp_path / "other.db", link)(monitor.store.path)
    with pytest.raises(RuntimeError, match=r"another server uses|hard links"), monitor.store.claim_file():
        Store(f"sqlite:///{tmp_path}/other.db").claim_file()


def test_a_clock_that_is_set_back_changes_no_order_and_has_no_looks_come_at_once(tmp_path):
    now = [1_000_000.0]
    monitor = Monitor(f"sqlite:///{tmp_path}/m.db", clock=lambda: now[0])
    number = monitor.register(look_every={"seconds": 60})
    rows = decisions(1500)
    for part in range(3):
        monitor.send(number, rows[part * 500 : part * 500 + 500])
        now[0] -= 10_000
    with monitor.store.read() as connection:
        times = connection.scalars(sa.select(batches.c.time).order_by(batches.c.id)).all()
        positions = connection.scalars(
            sa.select(stored_decisions.c.position).order_by(stored_decisions.c.position)
        ).all()
    assert times == sorted(times) and positions == list(range(1, 1501))
    with pytest.raises(RefusedError, match=r"jumped by 8 hours; .* confirm-clock"):
        monitor.store.plan_look(number)
    monitor.store.confirm_clock()
    with pytest.raises(RefusedError, match="not due"):
        monitor.store.plan_look(number)
    now[0] += 60
    assert monitor.store.due_looks() == [number] and monitor.store.plan_look(number) == 1


DAY = 86_400


@pytest.fixture
def clocked(tmp_path):
    """A monitor with an investigation that retains two days, and its clock."""
    now = [1_000_000.0]
    found = Monitor(f"sqlite:///{tmp_path}/m.db", clock=lambda: now[0])
    found.register(retention_days=2)
    return found, now


def n_stored(monitor):
    return len(contents(monitor.store)["decisions"])


def hours_pass(monitor, now, n):
    for _ in range(n // 2):
        now[0] += 7200
        monitor.store.retain(may_have_paused=False)


def test_a_clock_that_was_ahead_for_a_batch_does_not_keep_rows(clocked):
    (monitor, now), rows = clocked, decisions(300)
    for start, ahead in ((0, 0), (100, 400 * DAY), (200, 0)):
        now[0] += ahead
        monitor.send(1, rows[start : start + 100])
        now[0] -= ahead
    hours_pass(monitor, now, 2 * 24 + 4)
    assert n_stored(monitor) == 0


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_is_wrong_when_rows_are_deleted_by_age_deletes_none(clocked, days, caplog):
    monitor, now = clocked
    monitor.send(1, decisions(500))
    now[0] += days * DAY
    for may_have_paused in (True, False):
        assert monitor.store.retain(may_have_paused=may_have_paused) == 0
    monitor.send(1, decisions(501)[500:])  # and what comes meanwhile is no older than the rest
    now[0] -= days * DAY
    hours_pass(monitor, now, 24)
    assert n_stored(monitor) == 501
    reasons = [one.fields["reason"] for one in caplog.records if "fields" in vars(one)]
    assert len(reasons) == 2 and all(reason.endswith("confirm-clock") for reason in reasons)
    hours_pass(monitor, now, 30)
    assert n_stored(monitor) == 0


def test_after_a_pause_no_more_than_half_of_the_rows_are_deleted_until_the_clock_is_confirmed(clocked):
    (monitor, now), rows = clocked, decisions(1000)
    monitor.send(1, rows[:600])
    now[0] += 3 * DAY
    monitor.send(1, rows[600:])
    assert monitor.store.retain() == 0
    monitor.store.confirm_clock()
    assert monitor.store.retain() == 600


def test_a_database_that_was_away_for_hours_is_no_jump_of_the_clock(clocked):
    monitor, now = clocked
    by_time, retained = monitor.register(look_every={"seconds": 60}), []
    monitor.send(by_time, decisions(1000))
    delete_by_age(monitor.store, retained, now[0])
    for hours, is_away in ((0.5, False), (5, True), (9, True), (9, False)):
        now[0] += 3600 * hours
        with ExitStack() as stack:
            if is_away:
                stack.enter_context(mock.patch.object(monitor.store, "read", side_effect=ConnectionError))
                stack.enter_context(pytest.raises(ConnectionError))
            delete_by_age(monitor.store, retained, now[0])
    assert monitor.store.due_looks() == [by_time]


def test_a_clock_that_is_set_ahead_while_the_monitor_runs_is_a_jump(clocked):
    monitor, now = clocked
    by_time, retained = monitor.register(look_every={"seconds": 60}), []
    monitor.send(by_time, decisions(1000))
    delete_by_age(monitor.store, retained, 0)
    now[0] += 9 * 3600
    delete_by_age(monitor.store, retained, 3601)
    assert monitor.store.due_looks() == []


def test_looks_by_time_wait_while_the_clock_is_in_doubt_and_others_do_not(clocked):
    monitor, now = clocked
    by_time, by_rows = monitor.register(look_every={"seconds": 60}), monitor.register()
    for number in (by_time, by_rows):
        monitor.send(number, decisions(1000))
    now[0] += 400 * DAY
    assert monitor.store.due_looks() == [by_rows]
    now[0] -= 400 * DAY - 61
    assert set(monitor.store.due_looks()) == {by_time, by_rows}


def test_of_batches_older_than_a_day_one_an_hour_stays(clocked):
    (monitor, now), rows = clocked, decisions(300)
    for k in range(30):
        monitor.send(1, rows[10 * k : 10 * k + 10], key=str(k))
        now[0] += 600
    effects = monitor.as_.reader.get("/investigations/1/effects?bucket=3600").json()
    assert monitor.send(1, rows[290:], key="29").json()["new"] == 10  # the answer that it got
    monitor.store.retain()
    hours_pass(monitor, now, 30)
    assert 5 <= len(contents(monitor.store)["batches"]) <= 6
    after = monitor.as_.reader.get("/investigations/1/effects?bucket=3600").json()
    assert 5 <= len(after["effects"][0]["points"]) <= 6
    assert effects["effects"][0]["points"][-1] == after["effects"][0]["points"][-1]


def test_true_labels_come_later_and_order_the_rows(monitor):
    number, rows = monitor.register(**ERRORS), decisions(400)
    monitor.send(number, rows[:390])
    monitor.send(number, [row | {"truth": True} for row in rows[390:]])
    labels = [{"event_id": row["event_id"], "truth": row["offer"]} for row in reversed(rows[:300])]
    answer = monitor.send(number, [*labels, *labels[:7], {"event_id": "?", "truth": True}], kind="labels").json()
    assert answer == {"received": 308, "new": 300, "repeated": 7, "unknown": 1}
    people = counts(monitor.store, number)["sex"]
    assert sum(group[0] for group in people) == 310
    assert sum(group[1] for group in people) == sum(not row["offer"] for row in rows[390:])  # errors
    with monitor.store.read() as connection:
        train, table, order = monitor.store.rows(connection, number, 310, 300)
    assert len(table) == 310 and train[:300].all() and not train[300:].all()
    assert order.tolist() == [*range(391, 401), *range(1, 301)], "of one batch in the order of the decisions"
    expected = [row["offer"] for row in rows[:300]]
    assert table["offer"][10:].tolist() == table["truth"][10:].tolist() == expected


def test_rows_of_a_person_are_deleted_from_the_file_and_counts_stay(monitor):
    number = monitor.register(
        columns=ERRORS["columns"] | {"note": {"type": "number"}}, kind="error profiling", true_label="truth"
    )
    rows = [row | {"note": 0.0, "truth": True, "person": f"p{k % 10}"} for k, row in enumerate(decisions(200))]
    for row in rows:
        row["note"] = 3.14159 if row["person"] == "p3" else 0.0
    monitor.send(number, rows)
    before, mark = counts(monitor.store, number), b"3.14159"
    files = [monitor.store.path, monitor.store.path.with_name("monitor.db-wal")]
    assert any(mark in file.read_bytes() for file in files)
    for n_deleted in (20, 0):
        answer = monitor.as_.admin.post(f"/investigations/{number}/deletions", json={"person": "p3"})
        assert answer.json() == {"deleted": n_deleted}
    assert not any(mark in file.read_bytes() for file in files if file.exists())
    assert [row.complete is not None for row in contents(monitor.store)["decisions"]] == [True] * 180
    assert counts(monitor.store, number) == before


def test_rows_that_are_deleted_while_they_are_read_leave_the_log_later(monitor):
    number, files = monitor.register(), [monitor.store.path, monitor.store.path.with_name("monitor.db-wal")]
    monitor.send(number, [row | {"age": 3.14159, "person": "Ada"} for row in decisions(300)])
    with monitor.store._writer.connect() as connection:  # does not wait
        connection.connection.driver_connection.execute("PRAGMA busy_timeout=0")
    with monitor.store.read() as connection:
        connection.execute(sa.select(stored_decisions)).first()
        assert monitor.store.delete_person(number, "Ada") == 300
    monitor.store.retain()
    assert not any(b"3.14159" in file.read_bytes() for file in files if file.exists())


def test_neither_events_nor_people_are_readable_in_the_file(monitor):
    number = monitor.register()
    monitor.send(number, [row | {"person": "Ada Lovelace"} for row in decisions(3)])
    monitor.store.engine.dispose()
    data = monitor.store.path.read_bytes() + monitor.store.path.with_name("monitor.db-wal").read_bytes()
    assert b"Ada" not in data and decisions(1)[0]["event_id"].encode() not in data
    assert monitor.tokens["admin"].partition(".")[2].encode() not in data


def test_retention_deletes_old_rows_and_looks_go_on_with_the_rest(tmp_path):
    now = [1_000_000.0]
    monitor = Monitor(f"sqlite:///{tmp_path}/m.db", clock=lambda: now[0])
    number, other = monitor.register(retention_days=30), monitor.register()
    rows = decisions(3000)
    for investigation in (number, other):
        monitor.send(investigation, rows[:1000])
    first = monitor.look(number)
    now[0] += 31 * 86_400
    monitor.send(number, rows[1000:])
    assert monitor.store.retain() == 1000
    second = monitor.look(number)
    assert second["n_train"] + second["n_test"] == 2000 and not second["warnings"]
    assert monitor.as_.reader.get(f"/investigations/{number}/looks/1").json() == first
    assert len([row for row in contents(monitor.store)["decisions"] if row.investigation == other]) == 1000
    monitor.send(number, decisions(300, seed=1))
    now[0] += 31 * 86_400
    monitor.send(number, decisions(3000, seed=2))
    monitor.store.retain()
    said = ["300 of the 3,300 rows that arrived for this look were deleted before it."]
    assert monitor.look(number)["warnings"] == said


def test_a_backup_of_a_running_monitor_is_restored_exactly(monitor, tmp_path):
    number = monitor.register()
    monitor.send(number, decisions(500))
    backup(monitor.store, str(tmp_path / "backup"))
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    before = contents(monitor.store)
    monitor.send(number, decisions(700, seed=1))
    with pytest.raises(FileExistsError):
        backup(monitor.store, str(tmp_path / "backup"))
    with monitor.store.claim_file(), pytest.raises(RuntimeError, match="another server uses"):
        restore(Store(str(monitor.store.url)), str(tmp_path / "backup"))
    other = Store(f"sqlite:///{tmp_path}/other.db")
    for target in (Store(str(monitor.store.url)), other):
        restore(target, str(tmp_path / "backup"))
        assert contents(target) == before


def of_sql(*statements, is_new=False):
    """Return what makes of a backup one in which somebody ran some statements, or another database."""

    def change(path, content):
        path.write_bytes(b"" if is_new else gzip.decompress(content))
        with closing(sqlite3.connect(path)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()
        path.write_bytes(gzip.compress(path.read_bytes()))

    return change


NAMES = {"monitor.db", "monitor.db-wal", "monitor.db-shm"}
HOSTILE = {
    "cut": lambda path, content: path.write_bytes(content[:9000]),
    "a flipped bit": lambda path, content: path.write_bytes(
        content[:20_000] + bytes([content[20_000] ^ 1]) + content[20_001:]
    ),
    "empty": lambda path, content: path.write_bytes(b""),
    "an empty file, packed": of_sql(is_new=True),
    "an empty database": of_sql("CREATE TABLE people (name)", "DROP TABLE people", is_new=True),
    "no database": lambda path, content: path.write_bytes(gzip.compress(b"nothing" * 1000)),
    "another database": of_sql("CREATE TABLE people (name)", is_new=True),
    "a mere view": of_sql("CREATE VIEW alembic_version AS SELECT '0001' AS version_num", is_new=True),
    "newer": of_sql("UPDATE alembic_version SET version_num = '9999'"),
    "with a trigger": of_sql("CREATE TRIGGER t AFTER INSERT ON tokens BEGIN UPDATE tokens SET role = 'admin'; END"),
    "with a column more": of_sql("ALTER TABLE tokens ADD COLUMN more TEXT DEFAULT 'admin'"),
    "without an index": of_sql("DROP INDEX decisions_event"),
    "the database itself": lambda path, content: (path.unlink(), path.symlink_to(path.with_name("monitor.db"))),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_backup_of_a_monitor_changes_nothing(monitor, tmp_path, name):
    number, file = monitor.register(), tmp_path / "backup"
    monitor.send(number, decisions(500))
    backup(monitor.store, str(file))
    before, names = contents(monitor.store), sorted(path.name for path in tmp_path.glob("*.db*"))
    HOSTILE[name](file, file.read_bytes())
    with pytest.raises((ValueError, RuntimeError), match=r"expected|database"):
        restore(Store(str(monitor.store.url)), str(file))
    assert contents(Store(str(monitor.store.url))) == before
    assert not {path.name for path in tmp_path.glob("*.db*")} - {*names, "monitor.db.lock"}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW by_role AS SELECT role, count(*) FROM tokens GROUP BY role",
        "CREATE TABLE people (name)",
        "UPDATE alembic_version SET version_num = '9999'",
        "DROP TABLE alembic_version",
    ],
)
def test_what_could_not_be_restored_is_not_taken_for_a_backup(monitor, tmp_path, statement):
    with monitor.store.write() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises((ValueError, RuntimeError), match=r"^database: expected"):
        backup(monitor.store, str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


WRONG = {  # what is given as --database to a command, and what the message is about
    ("token", "create", "--role", "admin"): ("sqlite:monitor.db", "Could not parse"),
    ("token", "list"): ("postgresql:/name", "Could not parse"),
    ("backup", "backup"): ("sqlite:///text.db", "file is not a database"),
}


@pytest.mark.parametrize("command", WRONG)
def test_what_a_database_cannot_do_is_said_in_a_line(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    Path("text.db").write_text("no database " * 1000)
    database, message = WRONG[command]
    assert main(["monitor", *command, "--database", database]) == 1
    assert capsys.readouterr().err.startswith(f"fairlab: database: {message}")


def test_a_backup_of_an_older_version_is_migrated(monitor, tmp_path, monkeypatch):
    monitor.send(monitor.register(), decisions(500))
    before = contents(monitor.store)
    backup(monitor.store, str(tmp_path / "backup"))
    (tmp_path / "0002_later.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n\nrevision = '0002'\ndown_revision = '0001'\n\n\n"
        "def upgrade():\n    op.add_column('looks', sa.Column('later', sa.Integer, server_default='7'))\n"
    )
    config = migrations._config

    def later(**attributes):
        made = config(**attributes)
        made.set_main_option("path_separator", "space")
        made.set_main_option("version_locations", f"{tmp_path} fairlab.monitoring:migrations/versions")
        return made

    monkeypatch.setattr(migrations, "_config", later)
    restore(Store(str(monitor.store.url)), str(tmp_path / "backup"))
    found = Store(str(monitor.store.url))
    assert contents(found) == before
    with found.read() as connection:
        assert migrations.current(connection) == "0002" == migrations.known()[0]
        assert connection.exec_driver_sql("SELECT later FROM looks").all() == []


def test_a_disk_that_is_full_leaves_neither_half_a_backup_nor_another_database(monitor, tmp_path, monkeypatch):
    monitor.send(monitor.register(), decisions(500))
    before = contents(monitor.store)
    backup(monitor.store, str(tmp_path / "backup"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("fairlab.monitoring.backup.shutil.copyfileobj", full)
        with pytest.raises(OSError, match="No space"):
            backup(monitor.store, str(tmp_path / "second"))
        with pytest.raises(OSError, match="No space"):
            restore(Store(str(monitor.store.url)), str(tmp_path / "backup"))
    assert {path.name for path in tmp_path.iterdir()} <= {*NAMES, "backup", "monitor.db.lock"}
    assert contents(Store(str(monitor.store.url))) == before


def test_migrations_make_the_tables_that_the_code_uses(monitor):
    with monitor.store.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert migrations.current(connection) == migrations.known()[0]
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert monitor.as_.reader.get("/readyz").status_code == 503
    with pytest.raises(RuntimeError, match="update fairlab"):
        migrations.migrated(monitor.store)


def test_tables_change_with_a_migration_only():
    tables = [
        (table.name, [(c.name, repr(c.type), c.nullable, c.primary_key) for c in table.c], indexes(table))
        for table in metadata.sorted_tables
    ]
    assert hashlib.sha256(repr(tables).encode()).hexdigest()[:16] == "b0e9b0d00fba6e31", (
        "tables in store.py changed: databases that exist have the old ones; add a migration, then put the digest here"
    )


def indexes(table):
    return sorted((one.name, [c.name for c in one.columns], one.unique) for one in table.indexes)


def test_what_belongs_to_a_deleted_investigation_goes_and_its_number_is_not_given_again(monitor):
    number, files = monitor.register(), [monitor.store.path, monitor.store.path.with_name("monitor.db-wal")]
    monitor.send(number, [row | {"age": 3.14159} for row in decisions(300)])
    monitor.look(number)
    assert any(b"3.14159" in file.read_bytes() for file in files)
    assert monitor.as_.admin.delete(f"/investigations/{number}").status_code == 204
    assert not any(b"3.14159" in file.read_bytes() for file in files if file.exists())
    left = contents(monitor.store)
    assert not any(left[name] for name in ("investigations", "decisions", "batches", "looks"))
    assert monitor.as_.reader.get(f"/investigations/{number}").status_code == 404
    assert monitor.register() == number + 1


@pytest.mark.parametrize(("metric", "status"), [("Difference", 422), (None, 200)])
def test_a_missing_group_is_refused_where_the_metric_takes_two(monitor, metric, status):
    rows = [*decisions(20), decisions(1, seed=3)[0] | {"sex": None}]
    assert monitor.send(monitor.register(metric=metric), rows).status_code == status
