"""Which e-mail addresses and webhook URLs can be used at all."""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused, Invalid

# As mail servers take it: the local part in ASCII without quotes, a domain of labels.
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MOST_LOCAL, _MOST_DOMAIN, _MOST_URL = 64, 253, 2000


def check_email(address: str, *, domains: Collection[str] = (), field: str = "email") -> str:
    """The address. Invalid if no mail can go to it, or none may: `domains` are all that an administrator allows."""
    local, at, domain = address.strip().rpartition("@")
    is_good = (
        bool(at)
        and len(local) <= _MOST_LOCAL
        and _LOCAL.fullmatch(local) is not None
        and is_host(domain)
    )  # fmt: skip
    if not is_good:
        raise Invalid(
            f"{address[:100]!r} is not an e-mail address.", hint="Write it like ada@example.org.", fields=[field]
        )
    if domains and not any(_is_below(domain, one) for one in domains):
        raise Invalid(
            f"E-mail to {domain} is not allowed here, only to {', '.join(sorted(domains))}.",
            hint="Use another address, or ask a site administrator.",
            fields=[field],
        )
    return f"{local}@{domain}"


def check_webhook(url: str, reach: Reach) -> str:
    """The URL. Invalid if it is none, AddressRefused if it may not be called. Names are looked up when it is called."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _bad_url() from None
    is_plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url and len(url) <= _MOST_URL
    if not is_plain or parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.fragment:
        raise _bad_url()
    if parts.scheme == "http" and not reach.lists(host):
        raise AddressRefused(
            f"A webhook to {host} needs https.",
            hint="Plain http is only allowed for hosts that an administrator lists (MILL_IMPORT_HOSTS).",
        )
    if _is_address(host) and not reach.allows(host, host):
        raise AddressRefused(
            f"A webhook to {host} is refused: it is not a public address.",
            hint="An administrator can allow hosts and networks (MILL_IMPORT_HOSTS).",
        )
    return url


def shown_url(url: str) -> str:
    """The beginning: what follows may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def is_host(text: str) -> bool:
    return len(text) <= _MOST_DOMAIN and bool(text) and all(_LABEL.fullmatch(label) for label in text.split("."))


def _is_below(domain: str, allowed: str) -> bool:
    domain, allowed = domain.lower(), allowed.lower()
    return domain == allowed or domain.endswith(f".{allowed}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _bad_url() -> Invalid:
    return Invalid(
        "That is not the URL of a webhook.", hint="Write it like https://hooks.example.org/millpond.", fields=["url"]
    )
