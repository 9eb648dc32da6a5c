"""Notices of new significant findings: signed, stored until they are delivered, tried again with growing pauses."""

import asyncio
import hmac
import json
import socket
import time
from collections.abc import Container
from ipaddress import ip_address

import httpx

from fairlab.monitoring.logs import log
from fairlab.monitoring.store import Store

SIGNATURE = "Fairlab-Signature"
SECONDS_TO_ANSWER = 10  # from resolving the host to the status
MOST_ATTEMPTS = 12  # the last one 17 hours after the first
AT_ONCE = 20  # receivers


def signature(secret: str, seconds: int, body: bytes) -> str:
    """Return the header that signs a body: the time, and HMAC-SHA256 of the time, a dot and the body.

    Examples
    --------
    >>> from fairlab.monitoring.webhooks import signature
    >>> signature("a secret of the receiver", 1_700_000_000, b"{}")[:15]
    't=1700000000,v1'
    """
    return f"t={seconds},v1={hmac.digest(secret.encode(), b'%d.%s' % (seconds, body), 'sha256').hex()}"


def is_internal(host: str) -> bool:
    """Whether a host is not on the public internet, by its address, or by a name that shows it without a look-up."""
    try:
        address = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0]
    except OSError:
        return host.rstrip(".").endswith("localhost")
    found = ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    return not found.is_global or found.is_multicast


async def _post(url: str, body: bytes, headers: dict, internal: Container[str], transport) -> str:
    """Return the status of an answer, the rest of which is not read, or the reason why there is no answer."""
    target = url = httpx.URL(url)
    try:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            if transport is None and url.host not in internal:
                # Connect to the checked address, even if the name resolves to another one a moment later.
                named = asyncio.get_running_loop().getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
                address = (await named)[0][4][0]
                if is_internal(address):
                    return "refused: an internal address"
                target = url.copy_with(host=address)
            # Neither redirects nor proxies of the environment: signed bodies go to the registered address only.
            async with (
                httpx.AsyncClient(timeout=SECONDS_TO_ANSWER, trust_env=False, transport=transport) as client,
                client.stream(
                    "POST",
                    target,
                    content=body,
                    headers=headers | {"host": url.netloc.decode()},
                    extensions={"sni_hostname": url.host},
                ) as answer,
            ):
                return str(answer.status_code)
    except Exception as error:  # one receiver's error must not affect the others
        return type(error).__name__


def deliver(store: Store, internal: Container[str] = (), transport: httpx.AsyncBaseTransport | None = None) -> None:
    """Send the notices that are due; after a crash one may come twice.

    Parameters
    ----------
    store : Store
    internal : container of str
        Hosts that may have an internal address.
    transport : httpx.AsyncBaseTransport or None
        For tests.
    """

    async def deliver_all(found):
        await asyncio.gather(*(_deliver(store, of, internal, transport) for of in found))

    while found := store.due_notices(AT_ONCE):
        asyncio.run(deliver_all(found))


async def _deliver(store, of, internal, transport) -> None:
    webhook, attempts = store.investigation(of.investigation).registration.webhook, of.notice_attempts + 1
    notice = {name: of.report[name] for name in ("investigation", "name", "number", "level", "n_train", "n_test")}
    body = json.dumps(notice | {"new": of.report["changes"]["new"]}).encode()
    headers = {"content-type": "application/json", SIGNATURE: signature(webhook.secret, int(time.time()), body)}
    answer = await _post(webhook.url, body, headers, internal, transport)
    outcome = "delivered" if answer.startswith("2") else "given up" if attempts == MOST_ATTEMPTS else "failed"
    due = store.now() + 15_000 * 2**attempts if outcome == "failed" else None
    store.change_look(of, notice_due=due, notice_attempts=attempts, notice_answer=answer)
    log("notice", investigation=of.investigation, look=of.number, outcome=outcome, answer=answer)
