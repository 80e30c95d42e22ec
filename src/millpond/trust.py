"""Which certificates are trusted: those of the machine, and those of an authority of one's own (`MILL_CA_FILE`)."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from functools import cache

import certifi

from millpond.errors import SetupError

CA_FILE = "MILL_CA_FILE"
_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def tls_context(environ: Mapping[str, str] = os.environ) -> ssl.SSLContext:
    """For every connection that Millpond makes. `SSL_CERT_FILE` and `SSL_CERT_DIR` take the place of the machine's
    authorities, `MILL_CA_FILE` adds to them. SetupError for a file that holds no certificate."""
    return _context(environ.get(CA_FILE, ""), *(environ.get(name, "") for name in _PLACES))


@cache
def _context(own: str, file: str, directory: str) -> ssl.SSLContext:
    # Without a place of its own, OpenSSL looks where the machine keeps them, which on some is empty.
    context = ssl.create_default_context()
    if not file and not directory:
        context.load_verify_locations(certifi.where())
    if own:
        try:
            context.load_verify_locations(own)
            # Whoever names one certificate trusts it, whether it is an authority's or the server's own.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        except (OSError, ssl.SSLError) as error:
            raise SetupError(
                f"The file {own} of trusted certificates cannot be used: {error}.",
                hint=f"{CA_FILE} (or --ca-file) names a file with certificates in PEM.",
            ) from error
    return context
