"""Signing in a command line with a browser: on this machine by a port of it, or anywhere by a code."""

from __future__ import annotations

import hmac
import os
import platform
import secrets
import sys
import time
import webbrowser
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from millpond.client.http import Api
from millpond.client.sign_in import begin_device_login, poll_device_login, redeem_login
from millpond.errors import Forbidden, NotFound, Unavailable
from millpond.wire.people import NewToken
from millpond.wire.sign_in import DeviceLoginBegun

# How long somebody may take to sign in on the page.
PATIENCE_SECONDS = 600.0
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Millpond</title></head>
<body style="font-family: sans-serif; margin: 4em; color-scheme: light dark"><p>{words}</p></body></html>"""


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """True if a browser can be opened in front of the person; not through SSH, nor without a screen."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    return sys.platform in ("darwin", "win32") or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def machine_name() -> str:
    name = platform.node() or "a machine"
    return "".join(one for one in name if one.isprintable())[:100]


def login_in_browser(
    api: Api,
    *,
    tell: Callable[[str], None],
    open_browser: Callable[[str], bool] = webbrowser.open,
    patience: float = PATIENCE_SECONDS,
) -> NewToken:
    """Open the page, wait until somebody allows it there, and bring home a token. `tell` is given the address.

    What comes to the port is of use to this process alone: it holds the secret whose hash the page was given.
    """
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    with _Listener(state) as listener:
        asked = {
            "port": listener.server_address[1],
            "challenge": challenge,
            "state": state,
            "machine": machine_name(),
        }
        url = f"{api.base_url}/command-line?{urlencode(asked)}"
        tell(url)
        # A machine without one says so in many ways; the address was told.
        with suppress(OSError, webbrowser.Error):
            open_browser(url)
        code = listener.wait(patience)
    return redeem_login(api, code, verifier)


def login_with_code(
    api: Api, *, tell: Callable[[DeviceLoginBegun], None], sleep: Callable[[float], None] = time.sleep
) -> NewToken:
    """Have a code confirmed on the page, by a browser anywhere. `tell` is given it. NotFound once it has expired."""
    begun = begin_device_login(api, machine_name())
    tell(begun)
    while True:
        with suppress(Unavailable):
            token = poll_device_login(api, begun.secret)
            if token is not None:
                return token
        sleep(begun.interval)


class _Listener(HTTPServer):
    """Waits on a port of this machine for one answer with the right state."""

    def __init__(self, state: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state
        self.answer: dict[str, str] | None = None

    def wait(self, patience: float) -> str:
        """The code. Forbidden if it was denied; NotFound if nobody answered."""
        deadline = time.monotonic() + patience
        while self.answer is None:
            self.timeout = deadline - time.monotonic()
            if self.timeout <= 0:
                raise NotFound("Nobody signed in on the page in time.", hint="Run `mill login` again.")
            self.handle_request()
        if "code" not in self.answer:
            raise Forbidden("Signing in was denied on the page.", hint="Run `mill login` again.")
        return self.answer["code"]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no matter of ours."""


class _Handler(BaseHTTPRequestHandler):
    # Browsers open connections ahead of time: one that says nothing must not keep the answer waiting.
    timeout = 5
    server: _Listener

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        given = query.get("state", "").encode()
        if parts.path != "/" or not hmac.compare_digest(given, self.server.state.encode()):
            self.send_error(404)
            return
        self.server.answer = query
        words = "The command line is signed in." if "code" in query else "The command line gets nothing."
        body = _PAGE.format(words=f"{words} You can close this page.").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the code is in the address."""
