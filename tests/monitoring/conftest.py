import random
import uuid

import pytest

pytest.importorskip("fastapi")

import sqlalchemy as sa
from monitoring.streams import Monitor

from fairlab.benchmarks import postgresql as postgresql_programs


@pytest.fixture(autouse=True)
def same_keys(monkeypatch):
    """The keys that split rows into training and test sets are the same in every run."""
    monkeypatch.setattr("fairlab.monitoring.store.secrets.token_bytes", random.Random(0).randbytes)


@pytest.fixture
def monitor(tmp_path):
    """A monitor on SQLite."""
    return Monitor(f"sqlite:///{tmp_path}/monitor.db")


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL; the test is skipped with the reason where none is installed."""
    if postgresql_programs.MISSING:
        pytest.skip(postgresql_programs.MISSING)
    server = postgresql_programs.Server()
    yield server
    server.remove()


@pytest.fixture
def new_database(postgresql):
    """The address of a new database of a PostgreSQL."""
    name = f"m{uuid.uuid4().hex[:12]}"
    with sa.create_engine(sa.make_url(postgresql.url()).set(drivername="postgresql+psycopg")).connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"CREATE DATABASE {name}")
    return postgresql.url(name)
