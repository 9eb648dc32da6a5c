"""Background work of a monitor, not in the process that receives rows: looks, notices, deletion by age."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from fairlab.cases import CaseError
from fairlab.fairtest import compare_reports, findings
from fairlab.monitoring import looks
from fairlab.monitoring.logs import log, log_as_json, place
from fairlab.monitoring.registration import RefusedError, keyed
from fairlab.monitoring.store import DONE, FAILED, NOTICE_LOCK, WORK_LOCK, Store
from fairlab.monitoring.webhooks import deliver

MOST_ATTEMPTS = 20
OF_DATABASE = sa.exc.DBAPIError, sa.exc.TimeoutError  # errors that affect all investigations; the work is retried
HOUR = 3600  # seconds from one deletion of old rows to the next


def work(url: str, internal: Sequence[str] = ()) -> None:
    """Do the background work of a server until it ends; errors are logged, and the work is retried.

    Notices have their own thread, so that their receivers do not delay looks. They may go to some `internal` hosts.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C stops the server, which stops this process
    os.nice(5)
    log_as_json()
    store, retained = Store(url), []

    def look_and_delete():
        delete_by_age(store, retained)
        take_looks(store)

    for alongside in (
        lambda: (multiprocessing.parent_process().join(), os._exit(1)),
        lambda: _again(store, NOTICE_LOCK, lambda: deliver(store, internal)),
    ):
        threading.Thread(target=alongside, daemon=True).start()
    _again(store, WORK_LOCK, look_and_delete)


def delete_by_age(store: Store, retained: list[float], moment: float | None = None) -> None:
    """Delete old rows if this process last did so over an hour ago; over two hours count as a pause in its work.

    Parameters
    ----------
    store : Store
    retained : list of float
        Moment of the last deletion, in seconds of the monotonic clock; empty before the first; it is replaced.
    moment : float or None
        Now, by that clock; for tests.
    """
    now = time.monotonic() if moment is None else moment
    passed = now - retained[-1] if retained else float("inf")
    if passed > HOUR:
        store.retain(may_have_paused=passed > 2 * HOUR)
        retained[:] = [now]


def _again(store: Store, lock: int, do: Callable, seconds: float = 0.5) -> None:
    """Repeat work for as long as no other server does it."""
    while True:
        with _logged(), store.claim_work(lock) as is_ours:
            if is_ours:
                do()
        time.sleep(seconds)


@contextmanager
def _logged(*passed: type[Exception]) -> Iterator[None]:
    """Log an error without its message, which may contain values of rows, unless it is of a type to pass on."""
    try:
        yield
    except passed:
        raise
    except RefusedError:  # not due, or deleted
        return
    except Exception as caught:
        log("error", level="error", **place(caught))


def take_looks(store: Store) -> None:
    """Plan due looks and take unfinished ones; an error in one investigation does not affect the others."""
    for number in store.due_looks():
        with _logged(*OF_DATABASE):
            store.plan_look(number)
    for running in store.running_looks():
        with _logged(*OF_DATABASE):
            take_look(store, *running)


def take_look(store: Store, number: int, look: int) -> None:
    """Look at an investigation and store the report; for a failed look, it has the reason, and no level is spent."""
    planned, found = store.report(number, look), store.investigation(number)
    begun = store.change_look(planned, attempts=planned.attempts + 1)
    registration, started = found.registration, time.monotonic()
    about = {"investigation": number, "name": registration.name, "number": look, "level": begun.level}
    try:
        if begun.attempts > MOST_ATTEMPTS:
            raise ValueError(f"{MOST_ATTEMPTS} attempts ended without a report")
        with store.read() as connection:
            train, table, order = store.rows(connection, number, begun.until, begun.after)
            n_named, n_persons = store.persons(connection, number, begun.until, begun.after)
            n_deleted = store.n_deleted(connection, number, begun.until, begun.after)
        about |= {"n_train": int(train.sum()), "n_test": int((~train).sum())}
        (seed,) = keyed(found.key, b"look ", [str(look)])
        report = looks.look(registration, table, train, begun.level, int.from_bytes(seed[:4], "big"))
        shown, earlier = report.to_dict(smallest_cell=registration.smallest_cell), store.report(number)
        if n_deleted:
            shown["warnings"].append(
                f"{n_deleted:,} of the {begun.until - begun.after:,} rows that arrived for this look were deleted "
                "before it."
            )
        if n_named > n_persons:
            shown["warnings"].append(
                f"{n_named:,} of the rows tested are about {n_persons:,} persons, and count as independent: if "
                "decisions on the same person are alike, false findings are more frequent than stated."
            )
        if registration.true_label and looks.come_late(table[registration.true_label], order):
            shown["warnings"].append(
                "Some true labels come later than others. Rows count when their label comes: if groups come at "
                "different times, false findings are more frequent than stated. Send every label after the same delay, "
                "whatever its value."
            )
        changes = compare_reports(earlier.report if earlier else {"sections": []}, shown)
        values = {
            "state": DONE,
            "report": about | shown | {"changes": changes},
            "largest_p_value": float(report.to_frame()["raw_p_value"].max()),
            "summary": {kind: len(of) for kind, of in changes.items()} | {"findings": len(findings(shown))},
            "notice_due": store.now() if registration.webhook and changes["new"] else None,
        }
    except OF_DATABASE:
        raise
    except Exception as error:
        reason = f"an error in the monitor ({type(error).__name__})"
        if type(error) is ValueError or isinstance(error, CaseError):
            reason = str(error).partition(", found ")[0]  # what was found may be a value of a person
        about |= {"level": 0, "reason": f"{reason}; its level was not spent"}
        values = {"state": FAILED, "level": 0, "report": about}
        log("look failed", level="warning", investigation=number, look=look, **place(error))
    store.change_look(begun, finished=store.now(), **values)
    log(
        "look",
        investigation=number,
        look=look,
        state=values["state"],
        seconds=round(time.monotonic() - started, 3),
    )
