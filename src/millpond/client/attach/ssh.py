"""One SSH connection to a machine that is to be attached, and what can be wrong with it, told apart."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from millpond.client.attach import remote_script
from millpond.errors import BadRequest, Forbidden, MillError, NotSignedIn, SetupError, Unavailable

CONNECT_SECONDS = 15.0
LEAST_PYTHON = (3, 11)
_PYTHONS = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
_VERSION = "import sys; print(*sys.version_info[:2])"


@dataclass(frozen=True, slots=True)
class Address:
    """`USER@HOST`, and how to get in. Keys are read where they lie, used, and kept nowhere."""

    host: str
    user: str | None = None
    port: int = 22
    identity: Path | None = None
    known_hosts: Path | None = None
    accept_new_host_key: bool = False

    @property
    def written(self) -> str:
        return f"{self.host} port {self.port}"


class FarSide:
    """A machine somebody is signed in to. `python` is known after `find_python`."""

    def __init__(self, connection: asyncssh.SSHClientConnection, address: Address) -> None:
        self._connection = connection
        self._address = address
        self.python = ""

    async def find_python(self, chosen: str | None) -> tuple[int, int]:
        """The first Python that is new enough. SetupError says which there are instead."""
        older: list[str] = []
        for name in [chosen] if chosen else _PYTHONS:
            done = await self._connection.run(f"{shlex.quote(name)} -c {shlex.quote(_VERSION)}", check=False)
            if done.exit_status != 0:
                continue
            major, minor = (int(number) for number in str(done.stdout).split()[:2])
            if (major, minor) >= LEAST_PYTHON:
                self.python = name
                return major, minor
            older.append(f"{name} is {major}.{minor}")
        found = f"only an older one: {', '.join(older)}" if older else f"no {chosen or 'python3'}"
        raise SetupError(
            f"{self._address.host} has {found}. An agent needs Python 3.11 or newer.",
            hint="Install one there, or give its path with --python PATH.",
        )

    async def call(self, verb: str, *arguments: str, data: bytes = b"") -> str:
        """What a verb of `far_side` tells; SetupError with its own words when it fails."""
        text = Path(remote_script.__file__).read_text("utf-8")
        command = shlex.join([self.python, "-c", text, verb, *arguments])
        done = await self._connection.run(command, input=data, encoding=None, check=False)
        if done.exit_status != 0:
            words = _text(done.stderr).splitlines()
            raise SetupError(f"{self._address.host}: {verb} failed: {words[-1] if words else done.exit_status}")
        return _text(done.stdout)


@asynccontextmanager
async def signed_in(address: Address) -> AsyncIterator[FarSide]:
    """Sign in with the given key, or with those of the SSH agent and ~/.ssh. The host's key must be known."""
    options = asyncssh.SSHClientConnectionOptions(
        port=address.port,
        known_hosts=_known_hosts(address),
        connect_timeout=CONNECT_SECONDS,
        **({"username": address.user} if address.user else {}),
        **({"client_keys": [str(address.identity)]} if address.identity else {}),
    )
    try:
        connection = await asyncssh.connect(address.host, options=options)
    except (asyncssh.Error, OSError, TimeoutError) as error:
        raise _explained(error, address) from error
    async with connection:
        if address.accept_new_host_key:
            _remember(connection, address)
        yield FarSide(connection, address)


def _text(said: bytes | str | None) -> str:
    return (said.decode("utf-8", "replace") if isinstance(said, bytes) else said or "").strip()


def parse_address(text: str) -> tuple[str | None, str]:
    user, _, host = text.rpartition("@")
    if not host or host.startswith("-"):
        raise BadRequest(f"{text!r} is not a machine.", hint="Write it as USER@HOST.")
    return user or None, host


def _known_hosts(address: Address) -> str | None:
    """The file to look in. None trusts any key, and is chosen only for a host that is not known at all."""
    file = address.known_hosts or Path.home() / ".ssh/known_hosts"
    if address.accept_new_host_key and not _is_known(file, address):
        return None
    return str(file) if file.exists() else "/dev/null"


def _is_known(file: Path, address: Address) -> bool:
    if not file.exists():
        return False
    keys = asyncssh.read_known_hosts(str(file)).match(address.host, address.host, address.port)
    return any(keys[:3])


def _remember(connection: asyncssh.SSHClientConnection, address: Address) -> None:
    file = address.known_hosts or Path.home() / ".ssh/known_hosts"
    key = connection.get_server_host_key()
    if key is None or _is_known(file, address):
        return
    host = address.host if address.port == 22 else f"[{address.host}]:{address.port}"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    with open(file, "a", encoding="utf-8") as out:
        out.write(f"{host} {key.export_public_key().decode().strip()}\n")


def _explained(error: Exception, address: Address) -> MillError:
    where, who = address.written, address.user or "you"
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return Forbidden(
            f"The host key of {where} is unknown or has changed: {error.reason}.",
            hint="Check its fingerprint and add it to known_hosts (ssh-keyscan), or use --accept-new-host-key once.",
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return NotSignedIn(
            f"{where} refused the login of {who}: {error.reason}.",
            hint="Give the user (USER@HOST) and the key (--identity FILE), or load the key into ssh-agent.",
        )
    if isinstance(error, asyncssh.KeyImportError | asyncssh.KeyEncryptionError):
        return SetupError(
            f"Cannot use the key {address.identity}: {error}.", hint="Load a key with a passphrase into ssh-agent."
        )
    if isinstance(error, FileNotFoundError):
        return SetupError(f"File not found: {error.filename}")
    reason = "timed out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return Unavailable(f"Cannot reach {where} over SSH: {reason}.", hint="Check host, --port and your network.")
