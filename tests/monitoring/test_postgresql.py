"""The same on PostgreSQL, and what only it has: several servers on one database, of which one looks."""

import gzip
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from monitoring.streams import Monitor, decisions
from monitoring.test_store import ERRORS, contents, counts

from fairlab.monitoring.backup import _url, backup, restore
from fairlab.monitoring.store import Store, metadata
from fairlab.monitoring.store import decisions as stored_decisions


@pytest.fixture
def server(new_database):
    found = Monitor(new_database)
    yield found
    found.store.engine.dispose()


def test_a_monitor_on_postgresql_stores_and_reports_what_one_on_sqlite_does(server, monitor, monkeypatch):
    monkeypatch.setattr("fairlab.monitoring.store.secrets.token_bytes", lambda n: b"k" * n)  # the same split
    rows = [row | {"truth": row["age"] > 40, "person": row["event_id"][:2]} for row in decisions(2000)]
    found = []
    for one in (server, monitor):
        number = one.register(**ERRORS)
        assert one.send(number, rows[:1500], key="k").json() == one.send(number, rows[:1500], key="k").json()
        assert one.send(number, rows).json() == {"received": 2000, "new": 500, "repeated": 1500}
        assert one.send(number, rows[:1], key="k").status_code == 422
        looked = one.look(number)
        effects = one.as_.reader.get(f"/investigations/{number}/effects?bucket=86400").json()["effects"]
        person = {"person": rows[0]["person"]}
        deleted = one.as_.admin.post(f"/investigations/{number}/deletions", json=person).json()
        times = {"started", "finished", "time"}
        looked = {name: value for name, value in looked.items() if name not in times}
        points = [
            {name: value for name, value in p.items() if name != "time"} for e in effects for p in e["points"][-1:]
        ]
        found.append((looked, points, deleted, counts(one.store, number)))
    assert found[0] == found[1]
    with server.store.write() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_two_servers_on_one_postgresql_store_each_event_once_and_one_of_them_looks(server, new_database):
    number, rows = server.register(), decisions(1200)
    other = Store(new_database)
    sent = [rows[start : start + 100] for start in range(0, 1200, 50)]  # each row twice

    def send(k):
        return (server.store, other)[k % 2].add("decisions", number, sent[k])["new"]

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(len(sent)))) == 1200
    with other.read() as connection:
        positions = connection.scalars(sa.select(stored_decisions.c.position)).all()
    assert sorted(positions) == list(range(1, 1201))
    assert sum(group[0] for group in counts(other, number)["sex"]) == 1200
    with server.store.claim_work() as first, other.claim_work() as second:
        assert (first, second) == (True, False)
    with other.claim_work() as free:
        assert free
    other.engine.dispose()


def test_a_restart_of_postgresql_is_answered_by_503_and_then_goes_on(server, postgresql):
    number = server.register()
    assert server.send(number, decisions(10), key="a").status_code == 200
    postgresql.stop("immediate")
    try:
        assert server.send(number, decisions(20), key="b").status_code == 503
        assert server.as_.reader.get("/readyz").status_code == 503
    finally:
        postgresql.start()
    assert server.send(number, decisions(20), key="b").json() == {"received": 20, "new": 10, "repeated": 10}


def test_a_backup_of_postgresql_is_restored_exactly(server, tmp_path):
    number = server.register()
    server.send(number, decisions(300))
    before = contents(server.store)
    backup(server.store, str(tmp_path / "backup"))
    server.send(number, decisions(600))
    restore(server.store, str(tmp_path / "backup"))
    assert contents(server.store) == before
    content = (tmp_path / "backup").read_bytes()
    for broken in (b"nothing", gzip.compress(b"nothing"), content[:-9], content[:5000] + b"?" + content[5001:]):
        (tmp_path / "backup").write_bytes(broken)
        with pytest.raises((ValueError, RuntimeError), match=r"expected|pg_restore failed"):
            restore(server.store, str(tmp_path / "backup"))
        assert contents(server.store) == before


BESIDE = [  # what administrators do to a database
    "GRANT CREATE ON SCHEMA public TO public",  # which a user of one's own needs
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO public",
    "COMMENT ON TABLE tokens IS 'of the monitor'",
    "COMMENT ON SCHEMA public IS 'of the monitor'",
    "CREATE TABLE people (name text)",
]


@pytest.mark.parametrize("statement", BESIDE)
def test_a_backup_holds_the_monitor_s_tables_whatever_else_is_in_the_database(server, tmp_path, statement):
    server.send(server.register(), decisions(300))
    before = contents(server.store)
    with server.store.write() as connection:
        connection.exec_driver_sql(statement)
    backup(server.store, str(tmp_path / "backup"))
    server.send(server.register(), decisions(300))
    restore(server.store, str(tmp_path / "backup"))
    assert contents(server.store) == before


@pytest.mark.parametrize("name", ["a trigger", "a rule", "a newer version", "a table less", "no version"])
def test_what_could_not_be_restored_is_not_taken_for_a_backup(server, tmp_path, name):
    with server.store.write() as connection:
        connection.exec_driver_sql(HOSTILE[name][0])
    with pytest.raises((ValueError, RuntimeError), match=r"^database: expected"):
        backup(server.store, str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


def test_a_token_that_holds_what_postgresql_does_not_take_is_refused(server):
    assert server.client(None).get("/", auth=("anybody", "\0.secret")).status_code == 401


HOSTILE = {  # what is in a dump, and was done to have it there
    "a trigger": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.role = 'admin'; RETURN NEW; END$$;"
        "CREATE TRIGGER t BEFORE INSERT ON tokens FOR EACH ROW EXECUTE FUNCTION f()",
        "DROP FUNCTION f CASCADE",
    ),
    "a view": ("CREATE VIEW v AS SELECT * FROM tokens", "DROP VIEW v"),
    "a table more": ("CREATE TABLE people (name text)", "DROP TABLE people"),
    "a rule": ("CREATE RULE r AS ON DELETE TO tokens DO INSTEAD NOTHING", "DROP RULE r ON tokens"),
    "a newer version": (
        "UPDATE alembic_version SET version_num = '9999'",
        "UPDATE alembic_version SET version_num = '0001'",
    ),
    "a table less": ("ALTER TABLE looks RENAME TO glances", "ALTER TABLE glances RENAME TO looks"),
    "no version": ("DELETE FROM alembic_version", "INSERT INTO alembic_version VALUES ('0001')"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_dump_of_a_monitor_changes_nothing(server, tmp_path, name):
    server.send(server.register(), decisions(300))
    before, (make, undo) = contents(server.store), HOSTILE[name]
    with server.store.write() as connection:
        connection.exec_driver_sql(make)
    dump = subprocess.run(
        ["pg_dump", f"--dbname={_url(server.store)}", "--format=custom"], check=True, capture_output=True
    ).stdout
    (tmp_path / "backup").write_bytes(gzip.compress(dump))
    with server.store.write() as connection:
        connection.exec_driver_sql(undo)
    with pytest.raises((ValueError, RuntimeError), match="expected"):
        restore(server.store, str(tmp_path / "backup"))
    assert contents(server.store) == before
