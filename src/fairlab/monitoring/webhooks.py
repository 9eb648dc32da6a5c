"""Notices of new significant findings: signed, stored until they are delivered, tried again with growing pauses."""

import hashlib
import hmac
import json
import time

import httpx

from fairlab.monitoring.logs import LOG
from fairlab.monitoring.store import Store

SIGNATURE = "Fairlab-Signature"
SECONDS_TO_ANSWER = 10
MOST_ATTEMPTS = 12  # the last one 17 hours after the first
SHOWN = ("investigation", "name", "number", "level", "n_train", "n_test")


def signature(secret: str, seconds: int, body: bytes) -> str:
    """Return the header that signs a body: the time, and HMAC-SHA256 of the time, a dot and the body.

    Examples
    --------
    >>> from fairlab.monitoring.webhooks import signature
    >>> signature("a secret of the receiver", 1_700_000_000, b"{}")[:15]
    't=1700000000,v1'
    """
    return f"t={seconds},v1={hmac.digest(secret.encode(), b'%d.%s' % (seconds, body), hashlib.sha256).hex()}"


def deliver(store: Store, transport: httpx.BaseTransport | None = None) -> None:
    """Send the notices that are due; after a crash one may come twice. A transport is for tests."""
    while found := store.next_notice():
        webhook, report = store.investigation(found.investigation).registration.webhook, found.report
        body = json.dumps({name: report[name] for name in SHOWN} | {"new": report["changes"]["new"]}).encode()
        headers = {"content-type": "application/json", SIGNATURE: signature(webhook.secret, int(time.time()), body)}
        try:
            # Neither redirects nor proxies of the environment: what is signed goes where it was registered to go.
            with httpx.Client(timeout=SECONDS_TO_ANSWER, trust_env=False, transport=transport) as client:
                answer = str(client.post(webhook.url, content=body, headers=headers).status_code)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            answer = type(error).__name__
        attempts, is_delivered = found.notice_attempts + 1, answer.startswith("2")
        is_over = is_delivered or attempts == MOST_ATTEMPTS
        store.end_attempt(found, answer, seconds=None if is_over else 15 * 2**attempts)
        outcome = "delivered" if is_delivered else "given up" if is_over else "failed"
        of = {"investigation": found.investigation, "look": found.number}
        LOG.info("notice", extra={"fields": of | {"outcome": outcome, "answer": answer}})
