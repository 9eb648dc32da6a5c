"""Looks when a look is due, in a process of its own, so that rows are received meanwhile; deletes rows of old age."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from fairlab.monitoring import looks
from fairlab.monitoring.logs import LOG, log_as_json, place
from fairlab.monitoring.registration import RefusedError, keyed
from fairlab.monitoring.store import DONE, FAILED, Store

SECONDS = 0.5  # between two checks whether a look is due
SECONDS_OF_RETENTION = 3600
MOST_ATTEMPTS = 20


def take_look(store: Store, number: int, look: int) -> None:
    """Look at an investigation and store the report; one that failed has spent its level and says why."""
    begun = store.begin_look(number, look)
    investigation = store.investigation(number)
    registration = investigation.registration
    about = {"investigation": number, "name": registration.name, "number": look, "level": begun.level}
    if begun.attempts > MOST_ATTEMPTS:
        store.finish_look(begun, FAILED, about | {"reason": f"{MOST_ATTEMPTS} attempts ended before the report"})
        return
    with store.read() as connection:
        position, training, content, true = store.rows(connection, number, begun.until)
    train = training | (position <= begun.after)
    about |= {"n_train": int(train.sum()), "n_test": int((~train).sum())}
    (seed,) = keyed(investigation.key, b"look ", [str(look)])
    try:
        table = looks.as_table(registration, content, investigation.row.categories, true)
        report = looks.look(registration, table, train, begun.level, int.from_bytes(seed[:4], "big"))
    except ValueError as error:
        store.finish_look(begun, FAILED, about | {"reason": str(error)})
        return
    sections = looks.describe(report, begun.level, registration.smallest_cell)
    earlier = [past.report for past in store.look_list(number) if past.state == DONE]
    changes = looks.compare(earlier[-1]["sections"] if earlier else [], sections)
    found = about | {
        "warnings": looks.warnings(report, begun.level),
        "changes": changes,
        "sections": sections,
    }
    notice = about | {"new": changes["new"]} if registration.webhook and changes["new"] else None
    store.finish_look(begun, DONE, found, float(report.to_frame()["raw_p_value"].max()), notice)


def _look_in_process(url: str, number: int, look: int) -> None:
    """Take one look, behind the server in turn, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the server, which stops this process
    os.nice(5)
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    log_as_json()
    try:
        take_look(Store(url), number, look)
    except Exception as error:  # whose message may hold what a row holds
        LOG.error("look", extra={"fields": {"investigation": number, "look": look} | place(error)})
        sys.exit(1)


def repeated(job, stopping: threading.Event) -> None:
    """Do a job again and again until it is to stop; what goes wrong is logged and tried again."""
    while not stopping.wait(SECONDS):
        try:
            job(stopping)
        except Exception as caught:
            LOG.error("error", extra={"fields": place(caught)})


class Scheduler:
    """The job that plans looks, has them taken, and deletes what is not retained.

    Parameters
    ----------
    store : Store
    finished : callable
        Is called with the state of each look that ended.
    """

    def __init__(self, store: Store, finished=lambda state: None):
        self._store, self._finished = store, finished
        self._retained = -SECONDS_OF_RETENTION

    def __call__(self, stopping: threading.Event) -> None:
        """Do what is due."""
        if time.monotonic() - self._retained >= SECONDS_OF_RETENTION:
            self._retained = time.monotonic()
            if deleted := self._store.retain():
                LOG.info("rows deleted by age", extra={"fields": {"rows": deleted}})
        for number in self._store.numbers():
            with suppress(RefusedError):  # not due, or deleted
                self._store.plan_look(number)
        while (running := self._store.running_look()) and not stopping.is_set():
            with self._store.claim_looks() as is_ours:
                if not is_ours:
                    return
                self._take(*running, stopping)

    def _take(self, number, look, stopping) -> None:
        started = time.monotonic()
        url = self._store.url.render_as_string(hide_password=False)
        process = multiprocessing.get_context("spawn").Process(target=_look_in_process, args=(url, number, look))
        process.start()
        while process.is_alive() and not stopping.is_set():
            process.join(0.2)
        if process.is_alive():
            process.terminate()
        process.join()
        state = next((one.state for one in self._store.look_list(number) if one.number == look), "deleted")
        self._finished(state)
        fields = {"investigation": number, "look": look, "state": state}
        LOG.info("look", extra={"fields": fields | {"seconds": round(time.monotonic() - started, 3)}})
