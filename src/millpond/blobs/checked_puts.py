"""Signed PUTs of S3 that the store refuses unless the body has one CRC-32: a fifth of what Content-MD5 costs a client.

Not every server checks it, and a header that is not checked protects nothing: each store is tried once.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from datetime import UTC, datetime
from zlib import crc32

import urllib3

from millpond.blobs.sigv4 import Keys, signed_url
from millpond.blobs.store import CRC32_HEADER, SignedUrl

logger = logging.getLogger(__name__)

_TIMEOUT = urllib3.Timeout(connect=5.0, read=10.0)
_TRIED_SECONDS = 60
# The checksum of something else.
_WRONG = b64encode(crc32(b"right").to_bytes(4, "big")).decode()
_BODY = b"wrong"


class CheckedPuts:
    """Signs with the lake's own keys. `works` is None until it was tried."""

    def __init__(self, keys: Keys, region: str) -> None:
        self._keys = keys
        self._region = region
        self.works: bool | None = None

    def sign(self, url: str, checksum: str, seconds: int) -> SignedUrl:
        """`url` names the object, without a query; `checksum` is the CRC-32 in base64."""
        headers = {CRC32_HEADER: checksum}
        now = datetime.now(UTC)
        signed = signed_url(
            url, keys=self._keys, region=self._region, now=now, seconds=seconds, method="PUT", headers=headers
        )
        return SignedUrl(method="PUT", url=signed, headers=headers)

    def find_out(self, url: str) -> bool:
        """Whether the store refuses wrong bytes: some are sent to `url`, and are there if it does not."""
        self.works = self._is_refused(url)
        logger.info("store_checks_crc32 %s", self.works)
        return self.works

    def _is_refused(self, url: str) -> bool:
        signed = self.sign(url, _WRONG, _TRIED_SECONDS)
        pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT)
        try:
            answer = pool.request("PUT", signed.url, body=_BODY, headers=dict(signed.headers))
        except urllib3.exceptions.HTTPError as error:  # behind a proxy, for example
            logger.info("store_not_tried reason=%s", type(error).__name__)
            return False
        finally:
            pool.clear()
        return answer.status == 400 and b"BadDigest" in answer.data
