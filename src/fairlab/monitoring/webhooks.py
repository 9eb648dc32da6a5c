"""Notices of new significant findings: signed, stored until they are delivered, tried again with growing pauses."""

import hashlib
import hmac
import json
import threading
import time

import httpx

from fairlab.monitoring.logs import LOG
from fairlab.monitoring.registration import RefusedError
from fairlab.monitoring.store import Store

SIGNATURE = "Fairlab-Signature"
SECONDS_TO_ANSWER = 10
MOST_ATTEMPTS = 12  # the last one about a day after the first


def signature(secret: str, seconds: int, body: bytes) -> str:
    """Return the header that signs a body: the time, and HMAC-SHA256 of the time, a dot and the body.

    Examples
    --------
    >>> from fairlab.monitoring.webhooks import signature
    >>> signature("a secret of the receiver", 1_700_000_000, b"{}")[:15]
    't=1700000000,v1'
    """
    made = hmac.digest(secret.encode(), b"%d.%s" % (seconds, body), hashlib.sha256).hex()
    return f"t={seconds},v1={made}"


def pause(attempts: int) -> float:
    """Return the seconds from one attempt to the next."""
    return 15 * 2.0**attempts


def deliver(
    store: Store,
    stopping: threading.Event,
    ended=lambda outcome: None,
    transport: httpx.BaseTransport | None = None,
) -> None:
    """Send the notices that are due; after a crash one may come twice, with the same number.

    Parameters
    ----------
    store : Store
    stopping : threading.Event
    ended : callable
        Is called with the outcome of each attempt.
    transport : httpx.BaseTransport or None
        For tests.
    """
    while not stopping.is_set() and (found := store.next_delivery()):
        try:
            answer = _send(store, found, transport)
        except (httpx.HTTPError, httpx.InvalidURL, RefusedError) as error:
            answer = type(error).__name__
        is_delivered = answer.startswith("2")
        is_over = is_delivered or found.attempts >= MOST_ATTEMPTS
        store.end_delivery(found.id, answer, seconds=None if is_over else pause(found.attempts))
        outcome = "delivered" if is_delivered else "given up" if is_over else "failed"
        ended(outcome)
        LOG.info("notice", extra={"fields": {"delivery": found.id, "outcome": outcome, "answer": answer}})


def _send(store: Store, found, transport) -> str:
    webhook = store.investigation(found.investigation).registration.webhook
    body = json.dumps({"delivery": found.id} | found.body, allow_nan=False).encode()
    signed = signature(webhook.secret, int(time.time()), body)
    headers = {"content-type": "application/json", SIGNATURE: signed}
    # Neither redirects nor proxies of the environment: what is signed goes where it was registered to go.
    with httpx.Client(timeout=SECONDS_TO_ANSWER, trust_env=False, transport=transport) as client:
        return str(client.post(webhook.url, content=body, headers=headers).status_code)
