"""What a service, or a job that uses a cluster, finds beside it, and what it tells of itself (docs/design/025, 027).

`service/` of the placement belongs to the job: the agent writes into it by rename and never follows a link there.
Sockets lie in a directory that all services of the project on this machine share, and nobody else enters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.agent.archives import RAY_DRIVER, ray_driver
from millpond.agent.own_address import LOOPBACK, in_brackets, listening_host
from millpond.model.job_spec import JobService
from millpond.wire.desired import DesiredService
from millpond.wire.observed import ServiceSeen

SERVICE = "service"
SOCKETS = "sockets"
TOKEN = "token"
CONFIG = "router.json"
READY = "ready.json"
STATS = "stats.json"
_CERT, _KEY = "tls.crt", "tls.key"
# Of a Unix socket: the kernel takes 107 bytes.
_LONGEST_PATH = 100
_MOST_BYTES = 4 << 20
_FREE_PORTS = "--http-port 0 --grpc-port 0"
# What a replica tells of where it listens.
_ADDRESSES = ("http", "grpc", "remote_http", "remote_grpc")
_EVERYWHERE = ("tcp:0.0.0.0:", "tcp:[::]:")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}(?:\.[a-z]{1,10})?")
# In which a job's command may ask for a Python.
_PYTHON = re.compile(r"python[0-9.]*")
# The kind of cluster whose programs run beside a node of it.
RAY = "ray"
# Stands for the folder in variables that the server sends.
_FOLDER = "{service}"


def make(directory: Path, asked: DesiredService) -> None:
    """The folder of a placement that is being prepared. OSError if the files of a certificate cannot be read."""
    (directory / SERVICE).mkdir(mode=0o700)
    if asked.joins == RAY:
        (directory / SERVICE / RAY_DRIVER).write_bytes(ray_driver())
    write_files(directory, asked)
    for name, source in ((_CERT, asked.tls_cert), (_KEY, asked.tls_key)):
        if source is not None:
            _write(directory / SERVICE / name, Path(source).read_text())


def write_files(directory: Path, asked: DesiredService) -> None:
    """Token, configuration and further files as they are now; what has not changed is left alone."""
    named = {TOKEN: asked.token, CONFIG: asked.config}
    named |= {name: text for name, text in asked.files.items() if _NAME.fullmatch(name)}
    for name, text in named.items():
        path = directory / SERVICE / name
        if text and _read(path) != text.encode():
            _write(path, text)


def sockets_of(directory: Path, account: int) -> Path:
    """The directory that the services of a project on this machine share. `directory` is a placement's."""
    return directory.parents[1] / SOCKETS / str(account)


def make_sockets(directory: Path, account: int, uid: int | None) -> Path:
    """That directory, for this account to enter alone."""
    path = sockets_of(directory, account)
    path.parent.mkdir(mode=0o711, exist_ok=True)
    path.parent.chmod(0o711)
    path.mkdir(mode=0o700, exist_ok=True)
    if uid is not None:
        os.chown(path, uid, uid)
    return path


def variables(
    service: JobService, asked: DesiredService, directory: Path, account: int, address: str | None = LOOPBACK
) -> dict[str, str]:
    """Where its files lie, and for the command line: how a replica listens, and a router's certificate.

    `address` is that of this machine at its site; None if the job runs on another one, which shares no sockets.
    """
    folder = directory / SERVICE
    found = {"MILL_SERVICE": str(folder), "MILL_SERVICE_MODEL": service.model, "MILL_SERVICE_HOST": asked.host}
    socket = sockets_of(directory, account) / directory.name
    found["MILL_SERVICE_LISTEN"] = _listen(socket, address, remote=service.remote)
    found |= placed(asked.env, directory)
    found |= {"MILL_ADDRESS": address} if service.cluster and address is not None else {}
    found["MILL_SERVICE_TLS"] = f"--tls-cert {folder / _CERT} --tls-key {folder / _KEY}" if asked.tls_cert else ""
    return found


def of_client(asked: DesiredService, directory: Path, address: str | None = LOOPBACK) -> dict[str, str]:
    """Variables of a job that uses a cluster. One that joins it is found at the address of this machine."""
    told = {"MILL_ADDRESS": address} if asked.joins and address is not None else {}
    return {**placed(asked.env, directory), **told}


def placed(env: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Variables with the path of the folder in them."""
    return {name: value.replace(_FOLDER, str(directory / SERVICE)) for name, value in env.items()}


def seen(directory: Path) -> ServiceSeen:
    """What its process has written so far. What is no JSON object, or too long, is as good as nothing."""
    return ServiceSeen(ready=_document(directory / SERVICE / READY), stats=_document(directory / SERVICE / STATS))


def starter(directory: Path, asked: DesiredService, command: Sequence[str]) -> tuple[str, ...]:
    """What starts the command of a job that joins its cluster: in the Python that it names itself, where it does."""
    if asked.joins != RAY:
        return ()
    python = command[0] if _PYTHON.fullmatch(Path(command[0]).name) else "python3"
    return (python, str(directory / SERVICE / RAY_DRIVER))


def has_told(directory: Path) -> bool:
    """True if the process said that it is ready, in whatever way."""
    return (directory / SERVICE / READY).exists()


def router_config(directory: Path) -> dict[str, Any]:
    """What a router was told last; empty for a replica."""
    return _document(directory / SERVICE / CONFIG) or {}


def marks(directory: Path) -> tuple[object, ...]:
    """Differs when there is something new to read."""
    return tuple(_mark(directory / SERVICE / name) for name in (READY, STATS))


def forget(directory: Path, account: int) -> None:
    """Remove the sockets that the placement left."""
    for path in sockets_of(directory, account).glob(f"{directory.name}*"):
        path.unlink(missing_ok=True)


def reached(ready: Mapping[str, Any], host: str) -> dict[str, Any]:
    """What a replica told, with `host` in place of "everywhere". Without sockets all routers reach it alike."""
    found = {key: _at(value, host) if key in _ADDRESSES else value for key, value in ready.items()}
    for key in ("http", "grpc"):
        if found.get(key) != ready.get(key):
            found.setdefault(f"remote_{key}", found[key])
    return found


def _at(address: object, host: str) -> object:
    """`tcp:0.0.0.0:4000` is not where anybody else finds it."""
    for everywhere in _EVERYWHERE:
        if isinstance(address, str) and address.startswith(everywhere):
            return f"tcp:{in_brackets(host)}:{address.removeprefix(everywhere)}"
    return address


def _listen(socket: Path, address: str | None, *, remote: bool) -> str:
    """By a Unix socket, unless its path is too long or could not stand on a command line; and by ports for routers on
    other machines."""
    if address is None:
        return f"--host 0.0.0.0 {_FREE_PORTS}"
    path = str(socket.with_suffix(".http"))
    is_usable = len(os.fsencode(path)) <= _LONGEST_PATH and shutil.which("sh") and not set(path) & set(" \t\n*?[")
    sockets = f"--listen-unix {path} --grpc-unix {socket.with_suffix('.grpc')}"
    if not remote:
        return sockets if is_usable else f"--host {LOOPBACK} {_FREE_PORTS}"
    ports = f"--host {listening_host(address)} {_FREE_PORTS}"
    # Without sockets "everywhere" is where it listens: the same address is then for routers here and elsewhere.
    return f"{sockets} {ports}" if is_usable else f"--host 0.0.0.0 {_FREE_PORTS}"


def _write(path: Path, text: str) -> None:
    """By rename, for the owner of the folder to read."""
    owner = path.parent.stat()
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)
        if owner.st_uid != os.geteuid():
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    temporary.replace(path)


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(_MOST_BYTES + 1)


def _document(path: Path) -> dict[str, Any] | None:
    content = _read(path)
    if content is None or len(content) > _MOST_BYTES:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return dict(found) if isinstance(found, Mapping) else None


def _mark(path: Path) -> object:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
