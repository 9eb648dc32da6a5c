"""What a monitor does by itself, in another process than that which receives rows: looks, notices, deletion by age."""

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress

from fairlab.fairtest import compare_reports
from fairlab.monitoring import looks
from fairlab.monitoring.logs import LOG, log_as_json, place
from fairlab.monitoring.registration import RefusedError, keyed
from fairlab.monitoring.store import DONE, FAILED, Store
from fairlab.monitoring.webhooks import deliver

MOST_ATTEMPTS = 20
SECONDS, SECONDS_TO_RETAIN = 0.5, 3600  # from round to round, and from one deletion of old rows to the next


def work(url: str) -> None:
    """Work behind the server in turn, and end with it; what goes wrong is logged and tried again."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the server, which stops this process
    os.nice(5)
    parent = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    log_as_json()
    store, retained = Store(url), -SECONDS_TO_RETAIN
    while True:
        try:
            with store.claim_work() as is_ours:
                if is_ours:
                    deliver(store)
                    take_looks(store)
                if is_ours and time.monotonic() > retained + SECONDS_TO_RETAIN:
                    LOG.info("rows deleted by age", extra={"fields": {"rows": store.retain()}})
                    retained = time.monotonic()
        except Exception as caught:  # whose message may hold what a row holds
            LOG.error("error", extra={"fields": place(caught)})
        time.sleep(SECONDS)


def take_looks(store: Store) -> None:
    """Plan the looks that are due, and take all that are not finished, one after the other."""
    for number in store.numbers():
        with suppress(RefusedError):  # not due, or deleted
            store.plan_look(number)
    while running := store.running_look():
        with suppress(RefusedError):  # deleted
            take_look(store, *running)


def take_look(store: Store, number: int, look: int) -> None:
    """Look at an investigation and store the report; one that failed has spent its level and says why."""
    begun, found = store.begin_look(number, look), store.investigation(number)
    registration, started = found.registration, time.monotonic()
    about = {"investigation": number, "name": registration.name, "number": look, "level": begun.level}
    try:
        if begun.attempts > MOST_ATTEMPTS:
            raise ValueError(f"{MOST_ATTEMPTS} attempts ended before the report")
        with store.read() as connection:
            position, training, table = store.rows(connection, number, begun.until)
        train = training | (position <= begun.after)
        about |= {"n_train": int(train.sum()), "n_test": int((~train).sum())}
        (seed,) = keyed(found.key, b"look ", [str(look)])
        report = looks.look(registration, table, train, begun.level, int.from_bytes(seed[:4], "big"))
    except ValueError as error:
        state = FAILED
        store.finish_look(begun, state, about | {"reason": str(error)})
    else:
        state, shown = DONE, report.to_dict(smallest_cell=registration.smallest_cell)
        earlier = [past.report for past in store.look_list(number) if past.state == DONE]
        changes = compare_reports(earlier[-1] if earlier else {"sections": []}, shown)
        largest, is_notable = float(report.to_frame()["raw_p_value"].max()), registration.webhook and changes["new"]
        store.finish_look(begun, state, about | shown | {"changes": changes}, largest, has_notice=bool(is_notable))
    seconds = round(time.monotonic() - started, 3)
    LOG.info("look", extra={"fields": {"investigation": number, "look": look, "state": state, "seconds": seconds}})
