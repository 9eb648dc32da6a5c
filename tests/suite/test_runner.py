import threading
from multiprocessing.connection import Listener

import pytest

from fairlab.suite import pool, runner


@pytest.mark.parametrize(("answer", "good"), [(True, True), (False, False), (None, False)])
def test_a_job_asks_the_batch_and_fails_with_it(monkeypatch, answer, good):
    asked = []

    def batch(listener):
        with listener.accept() as connection:
            asked.append(connection.recv())
            if answer is not None:  # else it was stopped
                connection.send(answer)

    with Listener(authkey=b"key") as listener:
        monkeypatch.setenv(pool.ADDRESS_VARIABLE, str(listener.address))
        monkeypatch.setenv(pool.KEY_VARIABLE, b"key".hex())
        thread = threading.Thread(target=batch, args=(listener,))
        thread.start()
        assert runner.ask("toy/mean") is good
        thread.join()
    assert asked == [("experiment", "toy/mean")]
