"""A small https site for tests of imports: files with ETags, redirects, and servers that do not keep to the rules.

with running_website(tmp_path) as site, resolving({"files.test": ["127.0.0.1"]}):
    site.files["/a.csv"] = b"1,2\\n"
    site.redirects["/b.csv"] = "https://other.test/secret"
"""

from __future__ import annotations

import hashlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOSTS = ("files.test", "other.test", "localhost")


@dataclass
class Website:
    """What it serves, and what it was asked: method, path and headers."""

    port: int = 0
    certificate: Path = Path()
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    # Instead of the one made from the content; None: none at all.
    etags: dict[str, str | None] = field(default_factory=dict)
    # As many simple servers do: no ranges, no conditions.
    ignores_headers: bool = False
    password: str | None = None
    asked: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)

    def url(self, path: str, host: str = "files.test") -> str:
        return f"https://{host}:{self.port}{path}"

    def etag(self, path: str) -> str | None:
        made = f'"{hashlib.sha256(self.files[path]).hexdigest()[:20]}"'
        return self.etags.get(path, made)


@contextmanager
def running_website(directory: Path) -> Iterator[Website]:
    """Trusted by this process until the block ends."""
    site = Website()
    certificate, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    site.port, site.certificate = server.server_address[1], certificate
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="website")
    thread.start()
    try:
        with patch.dict("os.environ", {"SSL_CERT_FILE": str(certificate)}):
            yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def resolving(names: Mapping[str, Sequence[str] | Callable[[], Sequence[str]]]) -> Iterator[None]:
    """These names have these addresses; a function is asked each time, as a rebinding name server would be."""

    real = socket.getaddrinfo

    def resolve(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        found = names.get(str(host))
        if found is None:
            return real(host, port, *arguments, **options)
        addresses = found() if callable(found) else found
        return [answer for address in addresses for answer in real(address, port, *arguments, **options)]

    with patch("socket.getaddrinfo", resolve):
        yield


def make_certificate(directory: Path, *, hosts: Sequence[str] = HOSTS, days: int = 1) -> tuple[Path, Path]:
    """A certificate for `hosts` and 127.0.0.1 that vouches for itself, and its key; others take the same place."""
    key = ec.generate_private_key(ec.SECP256R1())
    number = x509.random_serial_number()
    # A name of its own: among several of one name, OpenSSL may try the wrong one.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"website {number:x}"[:64])])
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in hosts]
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(number)
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([*names, x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    directory.mkdir(parents=True, exist_ok=True)
    certificate, key_file = directory / "site.pem", directory / "site.key"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return certificate, key_file


def _handler(site: Website) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            site.asked.append((self.command, path, dict(self.headers)))
            if path in site.redirects:
                self._answer(302, {"Location": site.redirects[path]}, b"")
            elif site.password is not None and self.headers.get("Authorization") != site.password:
                self._answer(401, {}, b"")
            elif path not in site.files:
                self._answer(404, {}, b"nothing here")
            else:
                self._answer_file(path)

        do_HEAD = do_GET

        def _answer_file(self, path: str) -> None:
            content, etag = site.files[path], site.etag(path)
            headers = {"ETag": etag} if etag else {}
            wanted = self.headers.get("If-Match")
            reach = self.headers.get("Range")
            if site.ignores_headers:
                wanted = reach = None
            if wanted is not None and wanted != etag:
                self._answer(412, headers, b"")
            elif reach is not None:
                first, _, last = reach.removeprefix("bytes=").partition("-")
                headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
                self._answer(206, headers, content[int(first) : int(last) + 1])
            else:
                self._answer(200, headers, content)

        def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            return None

    return Handler
