"""Signed PUTs of S3 that the store refuses unless the body has one CRC-32, and once the object is there.

A CRC-32 costs a client a fifth of Content-MD5. Not every server checks it, or knows conditions, and a header that is
not checked protects nothing: each store is tried once.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from zlib import crc32

import urllib3

from millpond.blobs.sigv4 import Keys, signed_url
from millpond.blobs.store import CRC32_HEADER, CREATE_HEADER, SignedUrl
from millpond.pools import new_pool
from millpond.proxy import proxy_for

logger = logging.getLogger(__name__)

_TIMEOUT = urllib3.Timeout(connect=5.0, read=10.0)
_TRIED_SECONDS = 60
_BODY = b"trial"


class CheckedPuts:
    """Signs with the lake's own keys. `works` is None until it was tried; `only_create` tells of the condition."""

    def __init__(self, keys: Keys, region: str) -> None:
        self._keys = keys
        self._region = region
        self.works: bool | None = None
        self.only_create = False

    def sign(self, url: str, checksum: str, seconds: int) -> SignedUrl | None:
        """A PUT with what the store heeds; None if that is nothing. `checksum` is the CRC-32 in base64, or empty."""
        headers = {CREATE_HEADER: "*"} if self.only_create else {}
        if checksum and self.works:
            headers[CRC32_HEADER] = checksum
        return self.sign_with(url, headers, seconds) if headers else None

    def find_out(self, url: str) -> bool:
        """Whether the store refuses wrong bytes, and a second PUT. Something may be at `url` afterwards."""
        pool = new_pool(proxy_for(url), is_secure=url.startswith("https:"), timeout=_TIMEOUT, connections=1)
        try:
            self.works = self._refuses_wrong_bytes(pool, url)
            self.only_create = self.works and self._refuses_a_second(pool, url)
        except urllib3.exceptions.HTTPError as error:  # a store that only clients can reach, for example
            logger.info("store_not_tried reason=%s", type(error).__name__)
            self.works = self.works or False
        finally:
            pool.clear()
        logger.info("store_tried checks_crc32=%s only_creates=%s", self.works, self.only_create)
        return self.works

    def _refuses_wrong_bytes(self, pool: urllib3.PoolManager, url: str) -> bool:
        answer = self._put(pool, self.sign_with(url, {CRC32_HEADER: _checksum(b"something else")}, _TRIED_SECONDS))
        return answer.status == 400 and b"BadDigest" in answer.data

    def _refuses_a_second(self, pool: urllib3.PoolManager, url: str) -> bool:
        signed = self.sign_with(url, {CREATE_HEADER: "*", CRC32_HEADER: _checksum(_BODY)}, _TRIED_SECONDS)
        # The first may be refused, too: by what an earlier trial has left.
        first, second = self._put(pool, signed).status, self._put(pool, signed).status
        return first in (200, 412) and second == 412

    def sign_with(self, url: str, headers: Mapping[str, str], seconds: int) -> SignedUrl:
        """A PUT with these headers. `url` names the object, without a query."""
        now = datetime.now(UTC)
        signed = signed_url(
            url, keys=self._keys, region=self._region, now=now, seconds=seconds, method="PUT", headers=headers
        )
        return SignedUrl(method="PUT", url=signed, headers=headers)

    def _put(self, pool: urllib3.PoolManager, signed: SignedUrl) -> urllib3.BaseHTTPResponse:
        return pool.request("PUT", signed.url, body=_BODY, headers=dict(signed.headers))


def _checksum(body: bytes) -> str:
    return b64encode(crc32(body).to_bytes(4, "big")).decode()
