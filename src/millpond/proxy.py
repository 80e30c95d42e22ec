"""Which proxy a URL is reached through: one answer for the API, packs and pages, streams and stores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from millpond.errors import SetupError
from millpond.model.address import is_local_host

_KINDS = ("http", "https")


def proxy_for(url: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The proxy for this URL by the environment, or None. Local addresses and those in `no_proxy` have none.

    SetupError for a proxy that is neither http nor https.
    """
    environ = os.environ if environ is None else environ
    parts = urlsplit(url)
    proxy = configured_proxy(parts.scheme, environ)
    if proxy is None or is_local_host(parts.hostname or ""):
        return None
    # With the port: no_proxy may name it.
    host = parts.netloc.rpartition("@")[2]
    if proxy_bypass_environment(host, {"no": _value("no", environ)}):
        return None
    kind = urlsplit(proxy)
    if kind.scheme not in _KINDS:
        raise SetupError(
            f"The proxy {kind.scheme}://{kind.hostname} cannot be used.",
            hint="Set http_proxy, https_proxy or all_proxy to an http or https proxy, or list this host in no_proxy.",
        )
    return proxy


def configured_proxy(scheme: str, environ: Mapping[str, str]) -> str | None:
    """The proxy for URLs of this scheme: `https_proxy` before `all_proxy`, each before its upper-case form."""
    proxy = _value(scheme, environ) or _value("all", environ)
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _value(kind: str, environ: Mapping[str, str]) -> str:
    """Lower case wins even if empty: that is how one command is freed of a proxy that is set for all."""
    name = f"{kind}_proxy"
    return environ.get(name, environ.get(name.upper(), "")).strip()
