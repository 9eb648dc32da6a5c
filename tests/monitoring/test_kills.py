"""What was acknowledged is there once, whoever is killed: servers with ``kill -9``, PostgreSQL as if it had been."""

import random
import threading
import time

import pandas as pd
import pytest
import sqlalchemy as sa
from monitoring.streams import REGISTRATION, Server, decisions

from fairlab.monitoring import Client, migrations
from fairlab.monitoring.registration import keyed
from fairlab.monitoring.store import Store
from fairlab.monitoring.store import decisions as stored

KILLS = 25  # of each kind
SENDERS = 3


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """The address of a database, and what kills and starts again what is beneath a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/monitor.db", None
    return request.getfixturevalue("new_database"), request.getfixturevalue("postgresql")


@pytest.mark.slow
def test_every_acknowledged_row_is_stored_once(place):
    database, postgresql = place
    store, kills = migrations.migrated(Store(database)), random.Random(0)
    token, server = store.create_token("admin"), Server(database)
    number = Client(server.url, token).register(REGISTRATION | {"look_every": {"rows": 3000}})
    acknowledged, failed, stop = [], [], threading.Event()

    def send(seed):
        try:
            with Client(server.url, token, batch_size=100, max_seconds=900) as client:
                part = 0
                while not stop.is_set():
                    rows = decisions(500, seed=(seed << 32) + part)
                    answer = client.send(number, pd.DataFrame(rows))
                    assert (answer["received"], answer["new"], answer["repeated"]) == (500, 500, 0)
                    acknowledged.extend(row["event_id"] for row in rows)
                    part += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=send, args=(seed,)) for seed in range(1, SENDERS + 1)]
    for thread in threads:
        thread.start()
    for _ in range(KILLS):
        time.sleep(kills.uniform(0.05, 2.5))
        if postgresql and kills.random() < 0.5:
            postgresql.stop("immediate")
            postgresql.start()
        else:
            server.kill()
            server.start()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    Client(server.url, token).wait(number)
    server.kill()
    found = store.investigation(number)
    with store.read() as connection:
        events = connection.scalars(sa.select(stored.c.event)).all()
    assert len(acknowledged) >= 500
    assert len(events) == len(set(events)) == found.decided
    assert set(keyed(found.key, b"event ", acknowledged)) == set(events)
    looks = store.look_list(number)
    assert [one.number for one in looks] == list(range(1, len(looks) + 1))
    assert all(one.state == "done" for one in looks)
