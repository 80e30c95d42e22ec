"""Options of `mill up` about certificates and proxies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.api.front import TrustedProxies
from millpond.app import Ready
from millpond.errors import SetupError
from millpond.settings import KeyPair
from millpond.trust import CA_FILE


def checked_key_pairs(certs: Sequence[Path] | None, keys: Sequence[Path] | None) -> Sequence[KeyPair]:
    """The first key belongs to the first certificate, and so on. SetupError if one is missing."""
    certs, keys = certs or (), keys or ()
    if len(certs) != len(keys):
        raise SetupError(
            f"--tls-cert is given {len(certs)} times and --tls-key {len(keys)} times.",
            hint="Each certificate needs its key: --tls-cert FILE --tls-key FILE",
        )
    return [KeyPair(cert.absolute(), key.absolute()) for cert, key in zip(certs, keys, strict=True)]


def checked_proxies(text: str) -> str:
    """`text` itself, if it lists addresses and networks. SetupError otherwise."""
    try:
        TrustedProxies.parse(text)
    except ValueError as error:
        raise SetupError(
            f"--trusted-proxies is invalid: {error}.", hint="For example: --trusted-proxies 127.0.0.1,10.0.0.0/24"
        ) from error
    return text


def trust_lines(ready: Ready) -> list[str]:
    """What commands need where the machine's own authorities do not vouch for the server."""
    if ready.trusted is None:
        return []
    return [f"Commands and agents need its certificate: export {CA_FILE}={ready.trusted}"]
