"""A certified OpenID provider for tests: npm's oidc-provider (dev/oidc), a process on a port of this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from millpond.testing.daemons import free_port
from millpond.testing.waiting import wait_until

CLIENT_ID, CLIENT_SECRET = "millpond", "a client secret"
_READY_SECONDS = 60.0
_HOPS = 12


@dataclass
class OidcProvider:
    issuer: str
    _accounts: Path
    _process: subprocess.Popen[bytes] = field(repr=False)

    def set_accounts(self, accounts: Mapping[str, Mapping[str, Any]]) -> None:
        """Logins and their claims; counts from the next sign-in on."""
        self._accounts.write_text(json.dumps(accounts))

    def control(self, what: str) -> None:
        """`rotate`: sign with new keys; `hide`: publish others than it signs with."""
        httpx.post(f"{self.issuer}/control/{what}", trust_env=False).raise_for_status()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def why_not(folder: Path) -> str | None:
    """Why the provider cannot run here; None if it can."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (folder / "node_modules" / "oidc-provider").is_dir():
        return "oidc-provider is not installed (make oidc)"
    return None


@contextmanager
def running_oidc_provider(
    folder: Path, directory: Path, *, server_url: str, name: str = "corp"
) -> Iterator[OidcProvider]:
    """The provider in `folder` (dev/oidc), with a client for the Millpond server at this URL, which calls it `name`."""
    port = free_port()
    accounts, log = directory / "accounts.json", directory / "oidc.log"
    accounts.write_text("{}")
    api = f"{server_url}/api/v1/sign-in"
    command = ["node", "provider.mjs", str(port), str(accounts), f"{api}/callback", f"{server_url}/login"]
    with log.open("wb") as output:
        process = subprocess.Popen([*command, f"{api}/back-channel/{name}"], cwd=folder, stdout=output, stderr=output)
    provider = OidcProvider(f"http://127.0.0.1:{port}", accounts, process)

    def is_ready() -> bool:
        assert process.poll() is None, f"oidc-provider ended by itself:\n{log.read_text()}"
        return "ready at" in log.read_text()

    try:
        wait_until(is_ready, within=_READY_SECONDS, what="the OpenID provider's readiness")
        yield provider
    finally:
        provider.stop()


def sign_in_there(browser: httpx.Client, url: str, login: str, *, until: str) -> str:
    """Go through the provider's own form as `login`; the address that it sends the browser back to, below `until`."""
    for _ in range(_HOPS):
        if url.startswith(until):
            return url
        answer = browser.get(url)
        if answer.is_redirect:
            url = urljoin(url, answer.headers["Location"])
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
        assert form is not None, answer.text
        sent = browser.post(
            urljoin(url, form[1].replace("&amp;", "&")),
            data={"prompt": "login", "login": login, "password": "any"},
        )
        assert sent.is_redirect, sent.text
        url = urljoin(url, sent.headers["Location"])
    raise AssertionError(f"{urlsplit(url).path} leads nowhere")
