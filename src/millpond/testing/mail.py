"""A real mail server in the test's process, and a receiver of webhooks that keeps what it got.

with running_mail(tmp_path, tls="starttls", login=("millpond", "secret")) as mail: ...
    assert mail.messages[0]["Subject"] == "[Millpond] Job train failed (vision)"
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from millpond.testing.daemons import free_port
from millpond.testing.website import make_certificate


@dataclass
class Mail:
    """What came in. `refuses` are addresses that it has no mailbox for."""

    port: int = 0
    certificate: Path = Path()
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    # Whether each came over TLS.
    over_tls: list[bool] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refuses:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.original_content or b""
        self.messages.append(message_from_bytes(content, policy=policy.default))
        self.recipients.append(list(envelope.rcpt_tos))
        self.over_tls.append(session.ssl is not None)
        return "250 OK"


@contextmanager
def running_mail(directory: Path, *, tls: str = "none", login: tuple[str, str] | None = None) -> Iterator[Mail]:
    """`tls`: none, starttls (which is then demanded) or tls, with `mail.certificate`."""
    mail = Mail()
    options: dict[str, Any] = {}
    context = None
    if tls != "none":
        mail.certificate, key = make_certificate(directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(mail.certificate, key)
    if tls == "starttls":
        options |= {"tls_context": context, "require_starttls": True}
    if login is not None:
        options |= {
            "authenticator": _authenticator(login),
            "auth_required": True,
            "auth_require_tls": tls == "starttls",
        }
    controller = Controller(
        mail, hostname="127.0.0.1", port=free_port(), ssl_context=context if tls == "tls" else None,
        server_hostname="mail.test", **options,
    )  # fmt: skip
    mail.port = controller.port
    controller.start()
    try:
        yield mail
    finally:
        controller.stop()


@dataclass
class Receiver:
    """Of webhooks: headers and documents that came, and what is answered (the last status again and again)."""

    port: int = 0
    answers: list[int] = field(default_factory=lambda: [204])
    headers: list[Mapping[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/secret-path"

    @property
    def documents(self) -> list[Any]:
        return [json.loads(body) for body in self.bodies]


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.headers.append(dict(self.headers))
            status = receiver.answers[0] if len(receiver.answers) == 1 else receiver.answers.pop(0)
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="webhooks")
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _authenticator(login: tuple[str, str]) -> Any:
    def check(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
        given = (data.login.decode(), data.password.decode()) if isinstance(data, LoginPassword) else None
        return AuthResult(success=given == login, handled=False)

    return check
