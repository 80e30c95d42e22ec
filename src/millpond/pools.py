"""Pools of HTTP connections, alike for calls of the API and for data: proxies with a password, our certificates."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import urllib3

from millpond.trust import tls_context

# Large enough that few system calls are needed, small enough that one piece is sent well within the timeout.
_BLOCK_BYTES = 1 << 16


def new_pool(
    proxy: str | None, *, is_secure: bool, timeout: urllib3.Timeout, connections: int, wait: bool = False
) -> urllib3.PoolManager:
    """Connections that neither retry nor follow redirects, through `proxy` (of `millpond.proxy`) if there is one.

    Certificates are read only where `is_secure`, or the proxy is: it takes longer than many a request. With `wait`
    there are never more than `connections`; without, that many are kept.
    """
    context = tls_context() if is_secure else None
    if proxy is None:
        return urllib3.PoolManager(
            retries=False, timeout=timeout, maxsize=connections, block=wait, blocksize=_BLOCK_BYTES, ssl_context=context
        )
    parts = urlsplit(proxy)
    return urllib3.ProxyManager(
        proxy, retries=False, timeout=timeout, maxsize=connections, block=wait, blocksize=_BLOCK_BYTES,
        ssl_context=context,
        proxy_ssl_context=tls_context() if parts.scheme == "https" else None,
        proxy_headers=_sign_in(parts.username, parts.password),
    )  # fmt: skip


def words_of(error: BaseException) -> str:
    """What the system said, without the wrappings in which HTTP passes it on."""
    said = [cause for cause in (error.__cause__, *reversed(error.args)) if isinstance(cause, Exception)]
    if said:
        return words_of(said[0])
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return "timed out"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror  # without the "[Errno 111]" before it
    return str(error) or type(error).__name__


def _sign_in(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    made = urllib3.make_headers(proxy_basic_auth=f"{unquote(user)}:{unquote(password or '')}")
    return dict(made)
