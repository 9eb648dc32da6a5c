"""Looks when a look is due, in a process of its own, so that rows are received meanwhile; deletes rows of old age."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from fairlab.fairtest import compare_reports
from fairlab.monitoring import looks
from fairlab.monitoring.logs import LOG, log_as_json, place
from fairlab.monitoring.registration import RefusedError, keyed
from fairlab.monitoring.store import DONE, FAILED, Store

MOST_ATTEMPTS = 20


def take_look(store: Store, number: int, look: int) -> None:
    """Look at an investigation and store the report; one that failed has spent its level and says why."""
    begun = store.begin_look(number, look)
    registration, key, row = store.investigation(number)
    about = {"investigation": number, "name": registration.name, "number": look, "level": begun.level}
    try:
        if begun.attempts > MOST_ATTEMPTS:
            raise ValueError(f"{MOST_ATTEMPTS} attempts ended before the report")
        with store.read() as connection:
            position, training, content, true = store.rows(connection, number, begun.until)
        train = training | (position <= begun.after)
        about |= {"n_train": int(train.sum()), "n_test": int((~train).sum())}
        table = looks.as_table(registration, content, row.categories, true)
        (seed,) = keyed(key, b"look ", [str(look)])
        report = looks.look(registration, table, train, begun.level, int.from_bytes(seed[:4], "big"))
    except ValueError as error:
        store.finish_look(begun, FAILED, about | {"reason": str(error)})
        return
    shown = report.to_dict(smallest_cell=registration.smallest_cell)
    earlier = [past.report for past in store.look_list(number) if past.state == DONE]
    changes = compare_reports(earlier[-1] if earlier else {"sections": []}, shown)
    notice = about | {"new": changes["new"]} if registration.webhook and changes["new"] else None
    largest = float(report.to_frame()["raw_p_value"].max())
    store.finish_look(begun, DONE, about | shown | {"changes": changes}, largest, notice)


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


def look_when_due(store: Store, stopping: threading.Event, finished=lambda state: None) -> None:
    """Plan the looks that are due and have them taken, one after the other; `finished` gets the state of each."""
    for number in store.numbers():
        with suppress(RefusedError):  # not due, or deleted
            store.plan_look(number)
    while (running := store.running_look()) and not stopping.is_set():
        with store.claim_looks() as is_ours:
            if not is_ours:
                return
            number, look = running
            started = time.monotonic()
            url = store.url.render_as_string(hide_password=False)
            process = multiprocessing.get_context("spawn").Process(target=_look_in_process, args=(url, number, look))
            process.start()
            while process.is_alive() and not stopping.is_set():
                process.join(0.2)
            process.terminate()
            process.join()
            try:
                state = store.look_list(number)[look - 1].state
            except RefusedError:  # with its investigation, meanwhile
                state = "deleted"
            finished(state)
            fields = {"investigation": number, "look": look, "state": state}
            LOG.info("look", extra={"fields": fields | {"seconds": round(time.monotonic() - started, 3)}})


def retain(store: Store) -> None:
    """Delete what is not retained any longer."""
    if deleted := store.retain():
        LOG.info("rows deleted by age", extra={"fields": {"rows": deleted}})


def repeated(stopping: threading.Event, seconds: float, job) -> None:
    """Do a job again and again until it is to stop; what goes wrong is logged and tried again."""
    while not stopping.is_set():
        try:
            job()
        except Exception as caught:
            LOG.error("error", extra={"fields": place(caught)})
        stopping.wait(seconds)
