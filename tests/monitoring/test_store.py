"""What is stored: once, in order, as acknowledged, whatever the clock says; deletion, retention, backup, migrations."""

import hashlib
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from monitoring.streams import Monitor, decisions

from fairlab.monitoring import migrations
from fairlab.monitoring.backup import backup, restore
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


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_of_an_event_that_comes_twice_the_first_content_counts(monitor):
    (row,), number = decisions(1), monitor.register()
    other = row | {"sex": "fm".replace(row["sex"], "")}
    assert monitor.send(number, [row, other]).json() == {"received": 2, "new": 1, "repeated": 1}
    assert monitor.send(number, [other]).json() == {"received": 1, "new": 0, "repeated": 1}
    assert counts(monitor.store, number)["sex"]["fm".index(row["sex"])][0] == 1


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
    for url in ("mysql://a/b", "nothing", "sqlite://"):
        with pytest.raises(ValueError, match="database: expected"):
            Store(url)


def test_two_servers_on_one_file_are_refused(monitor):
    with monitor.store.claim_file(), pytest.raises(RuntimeError, match="another server uses"):
        Store(str(monitor.store.url)).claim_file()
    with monitor.store.claim_file():
        pass


def test_a_clock_that_is_set_back_changes_neither_order_nor_looks(tmp_path):
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
    assert monitor.store.plan_look(number) == 1  # due, although the clock says it is long before the registration


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
        position, _, table = monitor.store.rows(connection, number, 310)
    assert position.tolist() == list(range(1, 311))
    expected = [row["offer"] for row in reversed(rows[:300])]
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
    assert monitor.as_.admin.delete(f"/investigations/{number}/people/p3").json() == {"deleted": 20}
    assert monitor.as_.admin.delete(f"/investigations/{number}/people/p3").json() == {"deleted": 0}
    assert not any(mark in file.read_bytes() for file in files if file.exists())
    assert [row.complete is not None for row in contents(monitor.store)["decisions"]] == [True] * 180
    assert counts(monitor.store, number) == before


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
    assert second["n_train"] + second["n_test"] == 2000
    assert monitor.as_.reader.get(f"/investigations/{number}/looks/1").json() == first
    assert len([row for row in contents(monitor.store)["decisions"] if row.investigation == other]) == 1000


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
    (tmp_path / "backup").write_bytes((tmp_path / "backup").read_bytes()[:9000])
    with pytest.raises(ValueError, match="expected a backup"):
        restore(other, str(tmp_path / "backup"))
    assert contents(other) == before


def test_migrations_make_the_tables_that_the_code_uses(monitor):
    with monitor.store.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert migrations.current(connection) == migrations.newest()
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert monitor.as_.reader.get("/readyz").status_code == 503
    with pytest.raises(RuntimeError, match="update fairlab"):
        migrations.migrated(monitor.store)


def test_tables_change_with_a_migration_only():
    tables = [
        (table.name, [(c.name, repr(c.type), c.nullable, c.primary_key) for c in table.c], indexes(table))
        for table in metadata.sorted_tables
    ]
    assert hashlib.sha256(repr(tables).encode()).hexdigest()[:16] == "6271f12df47ea0a1", (
        "tables in store.py changed: databases that exist have the old ones, while migration 0001 makes the new ones. "
        "Write the old ones out in 0001 if it still says metadata.create_all, add a migration, then put the digest here"
    )


def indexes(table):
    return sorted((one.name, [c.name for c in one.columns], one.unique) for one in table.indexes)


def test_what_belongs_to_a_deleted_investigation_goes_and_its_number_is_not_given_again(monitor):
    number = monitor.register()
    monitor.send(number, decisions(300))
    monitor.look(number)
    assert monitor.as_.admin.delete(f"/investigations/{number}").status_code == 204
    left = contents(monitor.store)
    assert not any(left[name] for name in ("investigations", "decisions", "batches", "looks"))
    assert monitor.as_.reader.get(f"/investigations/{number}").status_code == 404
    assert monitor.register() == number + 1


@pytest.mark.parametrize(("metric", "status"), [("Difference", 422), (None, 200)])
def test_a_missing_group_is_refused_where_the_metric_takes_two(monitor, metric, status):
    rows = [*decisions(20), decisions(1, seed=3)[0] | {"sex": None}]
    assert monitor.send(monitor.register(metric=metric), rows).status_code == status
