"""Calls a webhook: a signed JSON document to an address that may be reached; redirects are not followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

from millpond.blobs.deadline import Deadline
from millpond.blobs.guarded_http import GuardedHttp, shown
from millpond.decide.allowed_addresses import Reach
from millpond.decide.notifications.addresses import shown_url
from millpond.errors import AddressRefused, StoreUnavailable
from millpond.retry import RetryPolicy
from millpond.services.flows.triggers.hooks import SCHEME, signature_of
from millpond.services.notifications.outcome import Outcome

_GONE = 410
_ONCE = RetryPolicy(attempts=1)
_SECONDS = 60.0


def call(
    reach: Reach, url: str, secret: str, document: Mapping[str, Any], *, delivery_id: str, now: datetime
) -> Outcome:
    """Never inside a transaction. The body of the answer is not read."""
    body = json.dumps(document, ensure_ascii=False).encode()
    timestamp = f"{now.timestamp():.6f}"
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "User-Agent": "Millpond",
        "X-Mill-Delivery": delivery_id,
        "X-Mill-Timestamp": timestamp,
        "X-Mill-Signature": f"{SCHEME}{signature_of(secret, timestamp, body)}",
    }
    try:
        with Deadline(_SECONDS) as deadline, closing(GuardedHttp(reach, policy=_ONCE, deadline=deadline)) as http:
            answer = http.request("POST", url, headers, follow=False, body=[body])
            answer.close()
            is_late = deadline.is_over
    except AddressRefused as error:
        return Outcome(problem=error.message, hint=error.hint, is_final=True)
    except StoreUnavailable as error:
        # The path of a webhook may be a secret.
        status = error.details.get("status")
        said = error.message.replace(shown(url), shown_url(url))
        return Outcome(status if isinstance(status, int) else None, said)
    if is_late:
        return Outcome(problem=f"{shown_url(url)} did not answer within {_SECONDS:.0f} seconds.")
    return _judged(answer.status, url)


def _judged(status: int, url: str) -> Outcome:
    if 200 <= status < 300:
        return Outcome(status)
    where = shown_url(url)
    if 300 <= status < 400:
        said = f"{where} answered {status}, a redirect, which is not followed."
        return Outcome(status, said, "Add the webhook again with the URL that it redirects to.", is_final=True)
    return Outcome(status, f"{where} answered {status}.", is_final=status == _GONE)
