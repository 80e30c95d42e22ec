"""The certificates that the server shows: loaded at the start, and again when their files change.

A connection keeps what it was opened with; only new ones see another certificate. Several pairs are told apart by the
name that a client asks for, so that the page and the second origin may have certificates of different domains.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from logging import getLogger
from pathlib import Path

from cryptography import x509

from millpond.errors import SetupError
from millpond.settings import KeyPair

logger = getLogger(__name__)

# Of TLS 1.2 only suites with forward secrecy and authenticated encryption; those of TLS 1.3 all are.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
_OTHERS_READ = 0o007


@dataclass(frozen=True, slots=True)
class Shown:
    """What a certificate says of itself. `names` may begin with `*.`; addresses are written as in URLs, unbracketed."""

    names: Sequence[str]
    not_before: datetime
    not_after: datetime

    def covers(self, host: str) -> bool:
        """True if a client that asked for `host` accepts the certificate's names."""
        parent = f"*.{host.partition('.')[2]}"
        return host.lower() in self.names or (not _is_address(host) and parent.lower() in self.names)


class ServedCertificates:
    """`context` is what a listener needs. SetupError, naming the file, if a pair cannot be used at the start."""

    def __init__(self, pairs: Sequence[KeyPair]) -> None:
        if not pairs:
            raise SetupError("TLS needs a certificate.", hint="Give --tls-cert FILE and --tls-key FILE.")
        self._pairs = tuple(pairs)
        self._stamps = self._stamps_now()
        self._loaded = [(read_certificate(pair.cert), _load(pair)) for pair in self._pairs]
        self.context = _load(self._pairs[0])
        self.context.sni_callback = self._choose

    @property
    def shown(self) -> Sequence[Shown]:
        return [shown for shown, _ in self._loaded]

    def reload_changed(self) -> bool:
        """Load pairs whose files are others than before. What cannot be used (a key is written after its certificate)
        leaves the old ones in place, is logged, and is tried again at the next change."""
        stamps = self._stamps_now()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        try:
            loaded = [(read_certificate(pair.cert), _load(pair)) for pair in self._pairs]
        except SetupError as error:
            logger.warning("certificate_not_reloaded reason=%s", error)
            return False
        self._loaded = loaded
        for shown, _ in loaded:
            logger.info("certificate_reloaded names=%s until=%s", ",".join(shown.names), shown.not_after.isoformat())
        return True

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        """Called in each handshake, also where the client names no host."""
        fitting = (context for shown, context in self._loaded if name is not None and shown.covers(name))
        connection.context = next(fitting, self._loaded[0][1])

    def _stamps_now(self) -> Sequence[object]:
        return [_stamp(file) for pair in self._pairs for file in (pair.cert, pair.key)]


def read_certificate(file: Path) -> Shown:
    """The first certificate of the file, which is the server's own. SetupError if there is none."""
    try:
        found = x509.load_pem_x509_certificates(file.read_bytes())[0]
    except (OSError, ValueError) as error:
        raise SetupError(
            f"Cannot use the certificate {file}: {error}.", hint="--tls-cert names a file with certificates in PEM."
        ) from error
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound as error:
        raise SetupError(
            f"The certificate {file} names no host.", hint="Make it with subjectAltName: clients look at nothing else."
        ) from error
    hosts = [name.lower() for name in names.get_values_for_type(x509.DNSName)]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return Shown([*hosts, *addresses], found.not_valid_before_utc, found.not_valid_after_utc)


def warn_of_readable_keys(pairs: Sequence[KeyPair]) -> None:
    for pair in pairs:
        if pair.key.stat().st_mode & _OTHERS_READ:
            logger.warning("private_key_readable_by_others file=%s hint='chmod 600'", pair.key)


def accepts(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> bool:
    """True if such a client trusts such a server under this name: a handshake in memory, without a network."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    done = [False, False]
    for _ in range(6):  # flights of a handshake, with room
        for place, end in enumerate(ends):
            try:
                end.do_handshake()
                done[place] = True
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return all(done)


def _load(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a password of ours, OpenSSL would ask for one at the terminal.
        context.load_cert_chain(pair.cert, pair.key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise SetupError(
            f"Cannot use the certificate {pair.cert} with the key {pair.key}: {error}.",
            hint="Both are files in PEM that belong together; the key has no password.",
        ) from error
    return context


def _stamp(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
