"""The monitor's client: sends decisions and true labels, and reads reports and effects."""

import functools
import os
import queue
import re
import threading
import uuid
import warnings
import weakref
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from urllib.parse import unquote

import numpy as np
import pandas as pd

from fairlab.checks import align, check_choice, check_count, check_number, optional
from fairlab.monitoring.registration import EVENT, PERSON

httpx, tenacity = optional("httpx"), optional("tenacity")

WHOLE = re.compile(r"-?[0-9]+(\.0)?")  # a group's name that is a whole number
TOKEN = re.compile("[!-~]+")  # characters that a header can hold
UNNAMED_GROUPS = re.compile(r"\([0-9,]+ of fewer than [0-9]+ people\)")  # the groups that a report does not name
_SENDERS = weakref.WeakSet()  # forked processes do not inherit their threads
getattr(os, "register_at_fork", dict)(after_in_child=lambda: [each.begin() for each in _SENDERS])


class MonitorError(RuntimeError):
    """A monitor refused a request, or did not answer in time.

    Attributes
    ----------
    status : int or None
        HTTP status of the answer; None if there was none.
    errors : list of dict
        ``row``, ``column`` and ``reason`` of rows that do not fit.
    n_sent : int
        Rows of the table in earlier batches, which are stored.

    Examples
    --------
    >>> from fairlab.monitoring import MonitorError
    >>> try:
    ...     raise MonitorError("422: rows do not fit", 422, [{"row": 3, "column": "sex", "reason": "expected a text"}])
    ... except MonitorError as error:
    ...     print(error.status, error.errors[0]["row"])
    422 3
    """

    def __init__(self, message: str, status: int | None = None, errors=()):
        super().__init__(message)
        self.status, self.errors, self.n_sent = status, list(errors), 0


class Client(AbstractContextManager):
    """A connection to a monitor.

    Rows are sent in batches, each with an idempotency key. A batch that gets no answer, or the answer that the monitor
    is temporarily unavailable, is sent again with the same key, so that it counts once.

    Parameters
    ----------
    url : str
        Address of the monitor, such as ``http://127.0.0.1:8300``.
    token : str
        Made by ``fairlab monitor token create``.
    batch_size : int
        Rows of a request.
    max_seconds : float
        Time limit for retries of a request.
    transport : httpx.BaseTransport or None
        For tests.

    Raises
    ------
    ValueError
        If `url` is no HTTP address, or `token` is empty or has characters that a header cannot hold.

    Examples
    --------
    >>> from fairlab.monitoring import Client
    >>> client = Client("http://127.0.0.1:8300", token="1.secret")  # doctest: +SKIP
    >>> number = client.register(
    ...     {
    ...         "name": "offers",
    ...         "columns": {"sex": {"type": "category", "categories": ["f", "m"]}, "offer": {"type": "boolean"}},
    ...         "sensitive_features": ["sex"],
    ...         "output": "offer",
    ...         "look_every": {"rows": 1000},
    ...     }
    ... )  # doctest: +SKIP
    >>> client.send(number, decisions)  # doctest: +SKIP
    {'received': 5000, 'new': 5000, 'repeated': 0}
    """

    def __init__(self, url: str, token: str, *, batch_size: int = 1_000, max_seconds: float = 60, transport=None):
        try:
            is_address = httpx.URL(url).scheme in ("http", "https") and httpx.URL(url).host
        except httpx.InvalidURL:
            is_address = False
        if not is_address:  # otherwise each request would be retried in vain
            raise ValueError(f"url: expected an address such as http://127.0.0.1:8300, found {url}")
        if not TOKEN.fullmatch(token := token.strip()):
            raise ValueError("token: expected one as fairlab monitor token create prints it, found something else")
        self.batch_size = check_count(batch_size, "batch_size")
        self.max_seconds = check_number(max_seconds, "max_seconds", above=0)
        self._registered = functools.cache(self.investigation)  # it never changes
        settings = {"base_url": url, "headers": {"Authorization": f"Bearer {token}"}, "transport": transport}
        self._connection = functools.cache(lambda process: httpx.Client(**settings, timeout=30))

    @property
    def _http(self) -> "httpx.Client":
        """The connection of this process; a forked process has its own."""
        return self._connection(os.getpid())

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def request(self, method: str, path: str, *, headers=None, first_row: int = 0, **content) -> "httpx.Response":
        """Send a request, with retries, and return the answer; raise a MonitorError if it is refused.

        A request that may have reached the monitor is only repeated if that does no harm: if it reads, or has an
        idempotency key. `first_row` is added to the numbers of rows that do not fit.
        """
        if {".", ".."} & set(unquote(path).split("/")):  # it would resolve to another path
            raise ValueError(f"path: expected one without . and .., found {path}")
        not_sent = (httpx.ConnectError, httpx.ConnectTimeout)
        may_repeat = method == "GET" or "Idempotency-Key" in (headers or ())
        # The statuses after which a request may be accepted; after 429 and 503 it has done nothing.
        lost, again = (httpx.TransportError, (429, 502, 503, 504)) if may_repeat else (not_sent, (429, 503))
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(lost)
            | tenacity.retry_if_result(lambda answer: answer.status_code in again),
            wait=tenacity.wait_exponential(0.1, max=5),
            stop=tenacity.stop_before_delay(self.max_seconds),
            retry_error_callback=lambda state: state.outcome.result(),
        )
        try:
            answer = retrying(self._http.request, method, path, headers=headers, **content)
        except httpx.TransportError as error:
            done = "" if isinstance(error, not_sent) else "; the request may have been carried out"
            raise MonitorError(f"{method} {path}: no answer ({type(error).__name__}: {error}){done}") from error
        if answer.is_error:
            raise _refusal(answer, first_row)
        return answer

    def register(self, registration: Mapping) -> int:
        """Register an investigation and return its number; the guide lists the fields."""
        return self.request("POST", "/investigations", json=dict(registration)).json()["id"]

    def investigation(self, number: int) -> dict:
        """Return the registration, and the numbers of rows and looks."""
        return self.request("GET", f"/investigations/{number}").json()

    def send(self, number: int, decisions: pd.DataFrame) -> dict[str, int]:
        """Send decisions and return how many were received, new and repeated.

        Parameters
        ----------
        number : int
            Number of the investigation.
        decisions : DataFrame
            Column ``event_id``, those that are registered, and optionally ``person``. Others are not sent.

        Raises
        ------
        MonitorError
            If a row does not fit; the batches before are stored.
        ValueError
            If two columns have one name.
        """
        return self._send(number, decisions, "decisions")

    def send_labels(self, number: int, labels: pd.DataFrame) -> dict[str, int]:
        """Send true labels, a row of ``event_id`` and label each; see `send`. Unknown events count as ``unknown``."""
        return self._send(number, labels, "labels")

    def _send(self, number, frame, kind) -> dict[str, int]:
        about, totals = self._registered(number), {}
        if twice := frame.columns[frame.columns.duplicated()].tolist():
            raise ValueError(f"{kind}: has two columns {twice[0]!r}")
        types = {EVENT: "category", PERSON: "category"}
        types |= {name: column["type"] for name, column in about["columns"].items()}
        wanted = (EVENT, about["true_label"]) if kind == "labels" else types
        declared = {name: column.get("categories") or () for name, column in about["columns"].items()}
        rows = pd.DataFrame(
            {
                name: _plain(frame[name], types[name], declared.get(name, ()))
                for name in wanted
                if name in frame.columns
            },
            index=range(len(frame)),
            dtype=object,
        )
        for start in range(0, max(len(rows), 1), self.batch_size):
            part = rows[start : start + self.batch_size]
            content = part.to_dict("records") or [{}] * len(part)  # pandas before 3.1: none of a table without columns
            key, path = {"Idempotency-Key": str(uuid.uuid4())}, f"/investigations/{number}/{kind}"
            try:
                answer = self.request("POST", path, headers=key, first_row=start, json=content).json()
            except MonitorError as error:
                error.n_sent = start
                raise
            totals = {name: totals.get(name, 0) + count for name, count in answer.items()}
        return totals

    def delete_person(self, number: int, person: str) -> int:
        """Delete the rows of a person and return how many there were; running counts and past reports stay."""
        return self.request("POST", f"/investigations/{number}/deletions", json={"person": person}).json()["deleted"]

    def look(self, number: int, *, max_seconds: float = 600) -> dict:
        """Look now, or after a running look, and return the report; raise a MonitorError if there are too few rows."""
        n_looks = self.wait(number, max_seconds=max_seconds)
        try:
            wanted = self.request("POST", f"/investigations/{number}/looks").json()["number"]
        except MonitorError as refused:
            if refused.status != 409 or self.wait(number, max_seconds=max_seconds) == n_looks:
                raise
            return self.look(number, max_seconds=max_seconds)  # a look that was due began meanwhile
        self.wait(number, max_seconds=max_seconds)
        return self.report(number, wanted)

    def wait(self, number: int, *, max_seconds: float = 600) -> int:
        """Wait until no look is running, and return the number of looks."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda looks: "running" in [one["state"] for one in looks]),
            wait=tenacity.wait_fixed(0.2),
            stop=tenacity.stop_after_delay(max_seconds),
        )
        try:
            return len(retrying(lambda: self.request("GET", f"/investigations/{number}/looks").json()["looks"]))
        except tenacity.RetryError:
            raise MonitorError(f"investigation {number}: a look did not end in {max_seconds:g} seconds") from None

    def looks(self, number: int) -> pd.DataFrame:
        """Return the looks of an investigation, one row each."""
        found = self.request("GET", f"/investigations/{number}/looks").json()["looks"]
        return pd.DataFrame([{**one, **one.pop("changes")} for one in found])

    def report(self, number: int, look: int, *, as_text: bool = False) -> dict | str:
        """Return the report of a look."""
        kind = {"Accept": "text/plain" if as_text else "application/json"}
        answer = self.request("GET", f"/investigations/{number}/looks/{look}", headers=kind)
        return answer.text if as_text else answer.json()

    def effects(
        self, number: int, *, start: datetime | None = None, end: datetime | None = None, bucket: int | None = None
    ) -> pd.DataFrame:
        """Return the effect among everyone over time: a row for each group and time bucket of `bucket` seconds."""
        params = {name: of.isoformat() for name, of in (("start", start), ("end", end)) if of}
        params |= {} if bucket is None else {"bucket": bucket}
        found = self.request("GET", f"/investigations/{number}/effects", params=params).json()["effects"]
        frame = pd.DataFrame([{**one, **point} for one in found for point in one.pop("points")])
        return frame.assign(time=pd.to_datetime(frame["time"])) if len(frame) else frame


def _refusal(answer, first_row: int) -> MonitorError:
    """Return the error of an answer, with row numbers counted in the table, where the batch begins at `first_row`."""
    is_ours = answer.headers.get("content-type") == "application/problem+json"
    found = answer.json() if is_ours else {"detail": answer.text[:200] or answer.reason_phrase}
    errors = [one | {"row": None if one["row"] is None else one["row"] + first_row} for one in found.get("errors", [])]
    lines = ["row {row}, {column}: {reason}".format(**one).removeprefix("row None, ") for one in errors]
    return MonitorError("; ".join([f"{answer.status_code}: {found['detail']}", *lines[:3]]), answer.status_code, errors)


def _plain(column: pd.Series, kind: str, declared: Container[str] = ()) -> list:
    """Return a column's values for JSON: None for missing values, text for values that are not of its type.

    The monitor refuses the latter; None could be a true label that is not known yet.
    """
    values = texts = column.astype(object).map(lambda value: _text(value, declared), na_action="ignore")
    if kind == "number":
        values = pd.to_numeric(column.astype(object), errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)
    elif kind == "boolean":
        values = column.astype(object).map({0: False, 1: True}.get, na_action="ignore")
    values = values.astype(object).where(values.notna(), texts)
    return values.where(values.notna(), None).tolist()


def _text(value, declared: Container[str] = ()) -> str:
    """Return a value as text, whole numbers without a point: beside missing values, pandas turns 17 into a float."""
    text = str(value)
    if text not in declared and isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return text


def registration_of(frame: pd.DataFrame, *, sensitive_features, output: str, **fields) -> dict:
    """Return a registration whose columns have the types of a table of decisions.

    Parameters
    ----------
    frame : DataFrame
        Decisions. ``event_id`` and ``person`` are not registered, nor are columns without a role that identify rows,
        are numbers with missing values, or have more than 1,000 different texts. Sensitive features of up to ten
        different whole numbers, and outputs and true labels of two, are categories, as in an audit.
    sensitive_features : list of str
    output : str
    **fields
        Further fields of a registration; by default it looks every 1,000 rows.

    Examples
    --------
    >>> from fairlab.monitoring import registration_of
    >>> table = pd.DataFrame({"sex": ["f", "m"], "age": [40, 41], "offer": [True, False]})
    >>> fields = registration_of(table, sensitive_features=["sex"], output="offer")
    >>> fields["columns"]["sex"], fields["columns"]["age"]
    ({'type': 'category', 'categories': ['f', 'm']}, {'type': 'number'})
    """
    from fairlab.cases.schema import MAX_GROUP_VALUES
    from fairlab.cases.table import column_types

    columns = column_types(
        frame.drop(columns=[EVENT, PERSON], errors="ignore"), {*sensitive_features, output, fields.get("true_label")}
    )
    outcomes = [name for name in (output, fields.get("true_label")) if name in columns]
    for names, most in (*(([name], MAX_GROUP_VALUES) for name in sensitive_features), (outcomes, 2)):
        if all(columns.get(name, {}).get("type") == "number" for name in names):
            values = pd.concat([frame[name].dropna() for name in names]).unique()
            if 2 <= len(values) <= most and all(value == int(value) for value in values):
                columns |= {name: _of_codes(values) for name in names}
    labels = [columns[name].get("categories") for name in outcomes]
    if len(labels) == 2 and None not in labels:  # one may lack a label that the other has
        columns |= {name: columns[name] | {"categories": sorted({*labels[0], *labels[1]})} for name in outcomes}
    return {
        "name": output,
        "columns": columns,
        "sensitive_features": list(sensitive_features),
        "output": output,
        "look_every": {"rows": 1_000},
    } | fields


def _of_codes(values) -> dict:
    """Return the type of a column of whole numbers that stand for categories."""
    return {"type": "category", "categories": [str(code) for code in sorted(int(float(value)) for value in values)]}


def registration_of_audit(report: Mapping, *, output: str | None = None, **fields) -> dict:
    """Return a registration with the columns, sensitive features, outcome and confidence level of an audit.

    Parameters
    ----------
    report : mapping
        A report of `fairlab.audit`, as ``json.loads(report.to_json())``.
    output : str, optional
        Name that decisions will have; needed if the audit was of a model, since its table has no decisions.
    **fields
        Further fields of a registration, as in `registration_of`.

    Raises
    ------
    ValueError
        If the report does not name all groups (it omits those of fewer than five people), all labels, or an outcome.

    Warns
    -----
    UserWarning
        If the audit used weights.

    Examples
    --------
    >>> import json
    >>> import fairlab
    >>> from fairlab.monitoring import registration_of_audit
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "hired": ["yes", "no", "no", "no"] * 100})
    >>> case = fairlab.Case.from_decisions(people, "hired", sensitive_features="sex", pos_label="yes")
    >>> fields = registration_of_audit(json.loads(fairlab.audit(case, methods=["rates"]).to_json()))
    >>> fields["columns"]["hired"], fields["metric"]
    ({'type': 'category', 'categories': ['no', 'yes']}, 'Difference')
    """
    if not isinstance(report, Mapping) or not {"columns", "outcome", "sensitive_features"} <= set(report):
        raise ValueError("report: expected what fairlab.audit wrote as JSON, found something else")
    if any(row.get("weight", row["people"]) != row["people"] for row in report.get("groups", ())):
        warnings.warn("The audit used weighted rates; a monitor counts each decision once.", stacklevel=2)
    sensitive_features, outcome = list(report["sensitive_features"]), dict(report["outcome"])
    columns = {name: dict(column) for name, column in report["columns"].items()}
    for name in sensitive_features:
        if hidden := columns[name].pop("left_out", 0):
            raise ValueError(
                f"report: expected all groups of {name}, found {hidden} of fewer than five people, which a report does "
                "not name; register from the table"
            )
        groups = [row["group"] for row in report.get("groups", ()) if row["sensitive_features"] == name]
        codes = [group for group in groups if not group.startswith("(")]
        if columns[name]["type"] == "number" and codes and all(map(WHOLE.fullmatch, codes)):
            if hidden := [group for group in groups if UNNAMED_GROUPS.fullmatch(group)]:
                raise ValueError(
                    f"report: expected all groups of {name}, found {hidden[0][1:-1]}, which a report does not name; "
                    "register from the table"
                )
            columns[name] = _of_codes(codes)
    known, _ = outcome.pop("name"), outcome.pop("favourable", None)
    if output is None and (output := known) is None:
        raise ValueError("output: expected the name that decisions will have: the audit was of a model")
    favourable = report["provenance"].get("favourable", "")
    if outcome["type"] == "number" and favourable.startswith(f"{known} = "):
        raise ValueError(
            f"output: expected decisions that are texts, booleans or 0 and 1, found {favourable} among numbers, which "
            "a report does not list; register from the table"
        )
    columns[output] = outcome
    two = [columns[name] for name in (*sensitive_features, output)]
    is_pairs = all(column["type"] == "boolean" or len(column.get("categories", ())) == 2 for column in two)
    return {
        "name": report["provenance"]["model"] if known is None else output,
        "columns": columns,
        "sensitive_features": sensitive_features,
        "output": output,
        "confidence_level": report["provenance"]["confidence_level"],
        "look_every": {"rows": 1_000},
        **({"metric": "Difference"} if is_pairs else {}),
    } | fields


def _event_ids(table: pd.DataFrame):
    """Return the event ids that a table has, or random ones."""
    return table[EVENT] if EVENT in table.columns else [str(uuid.uuid4()) for _ in range(len(table))]


def monitored(
    client: Client,
    number: int,
    *,
    output: str,
    full: str = "drop",
    queue_size: int = 100_000,
    event_ids: Callable = _event_ids,
) -> Callable:
    """Return a decorator that sends the results of a function of a table, without waiting for the monitor.

    Parameters
    ----------
    client : Client
    number : int
        Number of the investigation.
    output : str
        Name of the column for the results of the function, one value per row.
    full : {"drop", "wait", "raise"}
        What happens when `queue_size` rows wait to be sent: those of the call are dropped and counted, the call waits,
        or it raises `queue.Full`.
    queue_size : int
        Rows; the last call in the queue may exceed it.
    event_ids : callable
        Returns the event ids of a table; by default the column ``event_id`` if there is one, else random ones.

    Returns
    -------
    callable
        Its `sender` has ``flush(timeout)``, the counts `waiting`, `sent`, `dropped` and `failed`, in rows, and
        `last_error`; a forked process has its own. Rows still queued when the program ends are lost unless it calls
        `flush`. The table is sent as it was passed to the function, even if the function changes it. A Series of
        results is aligned to the table by its index, unless that is a new one, from 0.

    Examples
    --------
    >>> @monitored(client, 1, output="offer")  # doctest: +SKIP
    ... def predict(table):
    ...     return model.predict(table)
    >>> predict.sender.flush()  # doctest: +SKIP
    """
    sender = _Sender(
        client, number, check_choice(full, "full", ("drop", "wait", "raise")), check_count(queue_size, "queue_size")
    )

    def decorate(predict):
        @functools.wraps(predict)
        def sending(table, *args, **kwargs):
            rows = table.copy() if isinstance(table, pd.DataFrame) else table  # a model may change its input
            found = predict(table, *args, **kwargs)
            try:
                if not isinstance(rows, pd.DataFrame):
                    raise TypeError(f"expected a DataFrame, found {type(rows).__name__}")
                index = getattr(found, "index", None)
                is_new = isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(rows)))
                own = align(np.asarray(found) if is_new else found, rows.index, "the function's values")
                rows = rows.assign(**{output: own.array, EVENT: event_ids(rows)})
            except Exception as error:  # the caller gets the model's result in any case
                sender.fail(len(table) if hasattr(table, "__len__") else 1, error)
            else:
                sender.put(rows)
            return found

        sending.sender = sender
        return sending

    return decorate


class _Sender:
    """A thread that sends tables from a queue with a bounded number of rows; each forked process has its own."""

    def __init__(self, client, number, full, queue_size):
        self._client, self._number, self._full, self._queue_size = client, number, full, queue_size
        self.begin()
        _SENDERS.add(self)

    def begin(self) -> None:
        """Begin with an empty queue and zero counts in this process."""
        self._tables, self._changed, self._thread = [], threading.Condition(), None
        self.waiting = self.sent = self.dropped = self.failed = 0
        self.last_error = None

    def put(self, rows) -> None:
        """Queue the rows of a call."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="monitored", daemon=True)
                self._thread.start()
            if self._changed.wait_for(
                lambda: self.waiting < self._queue_size, timeout=None if self._full == "wait" else 0
            ):
                self._tables.append(rows)
                self.waiting += len(rows)
                self._changed.notify_all()
            elif self._full == "raise":
                raise queue.Full
            else:
                self.dropped += len(rows)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all queued rows were sent or failed, for at most `timeout` seconds; return whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.waiting, timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tables)
                tables, self._tables = self._tables, []
            self._send(tables)
            with self._changed:
                self.waiting -= sum(map(len, tables))
                self._changed.notify_all()

    def _send(self, tables) -> None:
        if len({tuple(table.dtypes.items()) for table in tables}) > 1:  # joined, a table would get missing values
            self._send_halves(tables)
            return
        try:
            self._client.send(self._number, pd.concat(tables, ignore_index=True))
            self.sent += sum(map(len, tables))
        except Exception as error:  # a model must continue whatever the monitor answers
            if len(tables) > 1 and getattr(error, "status", 0) is not None:  # a bad row fails only its own call
                self._send_halves(tables)
            else:
                n_sent = getattr(error, "n_sent", 0)
                self.sent += n_sent
                self.fail(sum(map(len, tables)) - n_sent, error)

    def _send_halves(self, tables) -> None:
        for half in (tables[: len(tables) // 2], tables[len(tables) // 2 :]):
            self._send(half)

    def fail(self, n_rows: int, error: Exception) -> None:
        """Count rows that were not sent."""
        with self._changed:
            self.failed, self.last_error = self.failed + n_rows, error
