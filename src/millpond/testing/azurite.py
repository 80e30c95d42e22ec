"""Azure's own emulator of its blob storage for tests: Azurite on Node, in memory and on a port of its own."""

from __future__ import annotations

import re
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from hmac import digest
from pathlib import Path
from urllib.parse import quote, urlsplit

import urllib3

from millpond.testing.waiting import wait_until

# Known to everybody: Azurite and all SDKs have this account built in.
CREDENTIALS = {
    "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1",
    "AZURE_STORAGE_ACCOUNT_KEY": (
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    ),
}
_ACCOUNT, _KEY = CREDENTIALS.values()
_VERSION = "2021-12-02"
_READY_SECONDS = 60.0
_LISTENS = re.compile(r"successfully listens on (http://\S+)")


@dataclass(frozen=True, slots=True)
class Azurite:
    endpoint: str
    container: str

    def url(self, prefix: str = "") -> str:
        """The lake URL of a prefix in the container; `CREDENTIALS` belong into the environment."""
        return f"az://{self.container}/{prefix}?endpoint={quote(self.endpoint, safe='')}"


@contextmanager
def running_azurite(program: Path, directory: Path, container: str = "lake") -> Iterator[Azurite]:
    """A server with one empty container; it ends with the block."""
    log = directory / "azurite.log"
    # obstore speaks newer versions of the protocol than Azurite knows, without anything of what is new in them.
    options = ["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck"]
    with log.open("wb") as output:
        process = subprocess.Popen([program, *options], stdout=output, stderr=output, cwd=directory)

    def listens() -> str:
        assert process.poll() is None, f"Azurite ended by itself:\n{log.read_text()}"
        found = _LISTENS.search(log.read_text())
        return f"{found[1]}/{_ACCOUNT}" if found else ""

    try:
        azurite = Azurite(wait_until(listens, within=_READY_SECONDS, what="Azurite's readiness"), container)
        _make_container(azurite)
        yield azurite
    finally:
        process.kill()
        process.wait()


def _make_container(azurite: Azurite) -> None:
    """obstore does not make containers; a request signed with the account's key does."""
    url = f"{azurite.endpoint}/{azurite.container}"
    date = format_datetime(datetime.now(UTC), usegmt=True)
    named = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
    resource = f"/{_ACCOUNT}{urlsplit(url).path}\nrestype:container"
    signed = digest(b64decode(_KEY), f"PUT{chr(10) * 12}{named}{resource}".encode(), "sha256")
    headers = {
        "x-ms-date": date,
        "x-ms-version": _VERSION,
        "Authorization": f"SharedKey {_ACCOUNT}:{b64encode(signed).decode()}",
    }
    with urllib3.PoolManager(retries=False) as pool:
        answer = pool.request("PUT", f"{url}?restype=container", headers=headers)
    assert answer.status == 201, answer.data
