"""The block of `~/.ssh/config` that names jobs and workspaces as hosts, and what lies beside it: key and host keys.

Each host has an own file of host keys, which `mill ssh-proxy` writes with every connection: it reads the job's key
through Millpond, which has checked who is asking, so that ssh can insist on it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.client.credentials import config_dir
from millpond.client.files import write_atomically
from millpond.errors import BadRequest, SetupError

PREFIX = "mill-"
BEGIN = "# BEGIN Millpond: written by `mill ssh-config --write`, which replaces what is here"
END = "# END Millpond"
_BLOCK = re.compile(rf"^{re.escape(BEGIN)}\n(.*?)^{re.escape(END)}\n+", re.MULTILINE | re.DOTALL)
_HOST = re.compile(r"^Host (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SshHost:
    """`target`: `workspace/NAME` or `job/ID`. `user` is what the job's account is called, as far as is known."""

    target: str
    name: str
    server: str
    project: str
    user: str

    @property
    def host(self) -> str:
        return PREFIX + re.sub(r"[^A-Za-z0-9._-]", "-", self.name)


def folder() -> Path:
    return config_dir() / "ssh"


def host_keys(host: str) -> Path:
    return folder() / f"known_hosts-{host}"


def ensure_identity(chosen: Path | None) -> Path:
    """The private key to sign in with: the chosen one, or one of Millpond's own, which is made when missing."""
    if chosen is not None:
        if not public_key_file(chosen).is_file():
            raise BadRequest(f"There is no public key {public_key_file(chosen)}.", hint="Make one: ssh-keygen")
        return chosen.expanduser().absolute()
    identity = folder() / "id_ed25519"
    if not identity.exists():
        if shutil.which("ssh-keygen") is None:
            raise SetupError("ssh-keygen is not installed.", hint="Install OpenSSH's client, or give --identity FILE.")
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "millpond", "-f", str(identity)]
        subprocess.run(made, check=True, stdin=subprocess.DEVNULL)
    return identity


def public_key_file(identity: Path) -> Path:
    return identity.expanduser().with_name(f"{identity.name}.pub")


def entry(one: SshHost, identity: Path) -> str:
    """The lines for one host."""
    proxy = [
        sys.executable, "-m", "millpond", "ssh-proxy", one.target, "--server", one.server, "--project", one.project,
        "--identity", str(identity), "--host", one.host,
    ]  # fmt: skip
    lines = [
        f"Host {one.host}",
        f"    HostName {one.host}",
        f"    User {one.user}",
        # ssh replaces tokens that begin with a percent sign: %r is the user.
        f"    ProxyCommand {shlex.join(proxy).replace('%', '%%')} --user %r",
        f'    IdentityFile "{identity}"',
        "    IdentitiesOnly yes",
        f'    UserKnownHostsFile "{host_keys(one.host)}"',
        "    StrictHostKeyChecking yes",
        "    UpdateHostKeys no",
        "    ServerAliveInterval 30",
    ]
    return "\n".join(lines) + "\n"


def entries_in(text: str) -> Mapping[str, str]:
    """By host, what the block in this file has."""
    found = _BLOCK.search(text)
    if found is None:
        return {}
    parts = _HOST.split(found[1])[1:]
    return {host: f"Host {host}{lines.rstrip()}\n" for host, lines in zip(parts[::2], parts[1::2], strict=True)}


def with_entries(text: str, entries: Mapping[str, str]) -> str:
    """The file with this block, at the top: of what several entries say of a host, ssh takes the first."""
    rest = _BLOCK.sub("", text)
    if not entries:
        return rest
    block = "\n".join(entries[host] for host in sorted(entries))
    return f"{BEGIN}\n{block}{END}\n\n{rest}".rstrip("\n") + "\n"


def write_entries(file: Path, added: Sequence[tuple[str, str]], *, removed: Sequence[str] = ()) -> bool:
    """Add and remove entries of the block in this file; whether anything changed."""
    target = Path(os.path.realpath(file))
    before = target.read_text("utf-8") if target.exists() else ""
    kept = {host: lines for host, lines in entries_in(before).items() if host not in removed}
    after = with_entries(before, {**kept, **dict(added)})
    if after == before:
        return False
    write_atomically(target, after.encode(), 0o600)
    return True
