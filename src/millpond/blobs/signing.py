"""URLs for stores that cannot sign by themselves: the server answers `/lake/<key>` after checking its own signature."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from urllib.parse import urlencode

from millpond.blobs.store import SignedUrl, check_key
from millpond.errors import Forbidden

ROUTE = "/lake/"


class LocalSigner:
    """Signs and checks method, key and expiry with HMAC-SHA256. All servers of one lake share the secret."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        if len(secret) < 16:
            raise ValueError("the signing secret is shorter than 16 bytes")
        self._secret = secret
        self._clock = clock

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        expires = int(self._clock()) + seconds
        signature = self._signature(method, check_key(key), expires)
        query = urlencode({"method": method, "expires": expires, "signature": signature})
        return SignedUrl(method=method, url=f"{ROUTE}{key}?{query}")

    def check(self, method: str, key: str, *, expires: int, signature: str) -> None:
        """Raises Forbidden unless this signer made exactly this URL for `method` and it has not expired."""
        expected = self._signature(method, key, expires)
        if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogateescape")):
            raise Forbidden("The signature of this URL is wrong.")
        if self._clock() >= expires:
            raise Forbidden("This URL has expired.", hint="Ask the server for a new one.")

    def _signature(self, method: str, key: str, expires: int) -> str:
        text = f"{method}\n{key}\n{expires}".encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()
