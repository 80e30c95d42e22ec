"""Looks at an endpoint before a site is sent there: is it this lake, and can the server reach it?"""

from __future__ import annotations

from logging import getLogger
from urllib.parse import urlsplit

import urllib3

from millpond.errors import BadFormat, BadRequest
from millpond.lake import keys
from millpond.lake.records import decode_lake
from millpond.pools import new_pool, words_of
from millpond.proxy import proxy_for
from millpond.services.deps import Deps
from millpond.services.lake import stores

logger = getLogger(__name__)

_TIMEOUT = urllib3.Timeout(connect=3.0, read=5.0)
_HINT = "Write it as a URL without a path, like https://10.0.0.5:9000."


def parse_endpoint(text: str) -> str:
    """As it is kept: scheme, host and port."""
    try:
        parts = urlsplit(text.strip())
        host = parts.hostname
        is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
        assert parts.port is None or parts.port > 0
    except (ValueError, AssertionError):
        host, is_plain = None, False
    if not host or not is_plain or parts.scheme not in ("http", "https"):
        raise BadRequest(f"{text!r} is not an endpoint.", hint=_HINT)
    return f"{parts.scheme}://{parts.netloc}"


def check_endpoint(deps: Deps, endpoint: str) -> str | None:
    """None if the server reads this lake there, or why it cannot reach it: the site may, all the same.

    BadRequest if something else than this lake answers.
    """
    url = stores.at_endpoint(deps, endpoint, deps.store.sign("GET", keys.LAKE, 60), keys.LAKE).url
    pool = new_pool(proxy_for(url), is_secure=url.startswith("https:"), timeout=_TIMEOUT, connections=1)
    try:
        answer = pool.request("GET", url)
    except urllib3.exceptions.HTTPError as error:
        logger.info("endpoint_not_reached endpoint=%s", endpoint)
        return f"The server cannot reach {endpoint}: {words_of(error)}"
    finally:
        pool.clear()
    if answer.status == 403:
        raise BadRequest(
            f"{endpoint} refuses the lake's signatures.",
            hint="It must receive requests as they are: a gateway may not change the host name.",
        )
    if answer.status >= 500:
        return f"{endpoint} answers {answer.status}."
    if answer.status != 200 or not _is_ours(deps, answer.data):
        raise BadRequest(
            f"{endpoint} does not hold this lake (it answered {answer.status}).",
            hint="Check the address, and that the same bucket is reached there.",
        )
    return None


def _is_ours(deps: Deps, document: bytes) -> bool:
    try:
        return decode_lake(document) == stores.lake_id(deps)
    except BadFormat:
        return False
