"""How the server's own machine reaches it over TLS: by a name of the certificate, trusting what vouches for it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from urllib.parse import urlsplit

from millpond.client.files import write_atomically
from millpond.errors import SetupError
from millpond.model.address import is_loopback_host
from millpond.server_tls import ServedCertificates, Shown, accepts
from millpond.settings import Settings
from millpond.trust import CA_FILE, tls_context

logger = getLogger(__name__)

# In the data directory; jobs of this machine read it, too.
TRUSTED_FILE = "trusted.pem"
_ALL = ("0.0.0.0", "::", "")


def local_name(settings: Settings, shown: Sequence[Shown]) -> str:
    """The host by which this machine's agent and commands reach the server. SetupError if no certificate has one."""
    here = ("127.0.0.1", "localhost") if settings.host in _ALL or is_loopback_host(settings.host) else ()
    given = () if settings.host in _ALL else (settings.host,)
    public: str | None = urlsplit(settings.public_url or "").hostname
    named = [name for one in shown for name in one.names if not name.startswith("*")]
    wanted: list[str] = [*given, *here, *([public] if public else ()), *named]
    for host in wanted:
        if any(one.covers(host) for one in shown):
            return host
    raise SetupError(
        "No certificate names a host of this server.",
        hint="Give the host that the certificate is for: --public-url https://HOST:PORT",
    )


class LocalTrust:
    """Keeps a file of certificates for the agent and the commands of this machine, whose own authorities may not do."""

    def __init__(self, settings: Settings, certificates: ServedCertificates) -> None:
        self._target = settings.data_dir / TRUSTED_FILE
        self._pairs = settings.tls
        self._certificates = certificates
        self._host = settings.tls_name or ""
        # What clients of this machine trust already; the file holds it, too.
        self._known = os.environ.get(CA_FILE)
        # None: those who run here trust the server as they are.
        self.file = None if accepts(certificates.context, tls_context(), self._host) else self._target
        if self.file is not None:
            self._write(self.file)

    def renew(self) -> bool:
        """After other certificates were loaded; True if whoever reads the file has to read it again."""
        if self.file is not None:
            self._write(self.file)
        return self.file is not None

    def _write(self, file: Path) -> None:
        sources = [*([Path(self._known)] if self._known else []), *(pair.cert for pair in self._pairs)]
        write_atomically(file, b"\n".join(source.read_bytes() for source in sources), mode=0o644)
        context = ssl.create_default_context(cafile=str(file))
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if not accepts(self._certificates.context, context, self._host):
            logger.warning("certificate_not_accepted host=%s hint='Has it expired?'", self._host)
