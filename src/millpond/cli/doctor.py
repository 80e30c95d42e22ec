"""`mill doctor`: what is wrong with this machine or the server, and what to do about it."""

from __future__ import annotations

import email.utils
import os
import platform
import shutil
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from typer.core import TyperCommand

from millpond import __version__, plugins
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, load_credentials, state_dir
from millpond.client.people import whoami
from millpond.errors import MillError, NotFound, SetupError
from millpond.model.address import is_local_host
from millpond.model.quantity import format_bytes, format_count, format_seconds
from millpond.proxy import configured_proxy, proxy_for
from millpond.settings import default_data_dir
from millpond.wire.health import LEAST_FREE_BYTES, Check, Doctor, ServerHealth

app = typer.Typer()

MOST_SKEW = 60.0


class _Doctor(TyperCommand):
    """`--server` without a name is the server's own diagnosis; with one, it says which server, as everywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ends = [*args[1:], "-"]
        return super().parse_args(
            ctx,
            ["--of-server" if one == "--server" and ends[at].startswith("-") else one for at, one in enumerate(args)],
        )


@command(app, "doctor", cls=_Doctor)
def doctor(
    mill: Session,
    of_server: Annotated[
        bool,
        typer.Option(
            "--of-server", help="Diagnose the server alone, for site administrators; `--server` without a name as well."
        ),
    ] = False,
) -> None:
    """Check this machine and the server, and suggest fixes. Exit code 1 if something is wrong.

    For site administrators, `mill doctor --server` tells of versions, database, lake, keys, certificates, backups,
    background tasks, agents, volumes, sources, mirrors, queue and quotas. There, warnings alone leave the exit code 0.

    Example: mill doctor --of-server --json
    """
    checks: list[Check] = []
    if of_server:
        _diagnose(mill, checks)
        return
    for check in (_python, _disk, _credentials, _data_dir, _plugins, _proxies, _port):
        _add(mill, checks, [check(mill)])
    _add(mill, checks, _server(mill))
    if mill.out.as_json:
        mill.out.json({"ok": all(c.ok for c in checks), "checks": [c.model_dump(mode="json") for c in checks]})
    wrong = [check for check in checks if not check.ok]
    if wrong:
        mill.out.note(f"{len(wrong)} of {len(checks)} checks failed.")
        raise typer.Exit(1)
    mill.out.note("All checks passed.")


def _diagnose(mill: Session, checks: list[Check]) -> None:
    _add(mill, checks, mill.api.get("/doctor/server", Doctor).checks)
    errors = sum(check.is_error for check in checks)
    warnings = sum(not check.ok for check in checks) - errors
    if mill.out.as_json:
        found = {"ok": not errors, "errors": errors, "warnings": warnings}
        mill.out.json({**found, "checks": [c.model_dump(mode="json") for c in checks]})
    said = ", ".join([format_count(errors, "error"), format_count(warnings, "warning")])
    mill.out.note(f"{said} in {len(checks)} checks." if errors or warnings else "All checks passed.")
    if errors:
        raise typer.Exit(1)


def _add(mill: Session, checks: list[Check], found: list[Check]) -> None:
    """Print each as it comes: a check that takes long shows what is waited for."""
    for check in found:
        checks.append(check)
        if mill.out.as_json:
            continue
        if not mill.out.for_people:
            todo = check.hint if check.hint and not check.ok else ""
            state = "ok" if check.ok else "wrong" if check.is_error else "warning"
            mill.out.line(f"{state}\t{check.name}\t{check.message}\t{todo}")
            continue
        mill.out.line(f"{'✓' if check.ok else '✗' if check.is_error else '!'} {check.name:<12} {check.message}")
        if check.hint and not check.ok:
            mill.out.line(f"  {'':<12} → {check.hint}")


def _python(mill: Session) -> Check:
    return Check(name="client", ok=True, message=f"mill {__version__}, Python {platform.python_version()}")


def _disk(mill: Session) -> Check:
    folder = _existing(state_dir())
    free = shutil.disk_usage(folder).free
    return Check(
        name="disk",
        ok=free >= LEAST_FREE_BYTES,
        message=f"{format_bytes(free)} free at {folder}",
        hint="Free some space: runs that cannot be sent yet are stored there.",
    )


def _credentials(mill: Session) -> Check:
    path = config_dir() / "credentials.json"
    if not path.exists():
        return Check(name="credentials", ok=True, message="no tokens on this machine")
    try:
        known = load_credentials(config_dir())
    except MillError as error:
        return Check(name="credentials", ok=False, message=error.message, hint=error.hint)
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        return Check(
            name="credentials",
            ok=False,
            message=f"other users can read {path} ({mode:o})",
            hint=f"Run: chmod 600 {path}",
        )
    return Check(name="credentials", ok=True, message=f"tokens for {', '.join(known.servers) or 'no server'}")


def _data_dir(mill: Session) -> Check:
    path = default_data_dir()
    if not path.exists():
        return Check(name="data dir", ok=True, message=f"{path} does not exist yet; mill up creates it")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            name="data dir",
            ok=False,
            message=f"you cannot read and write {path}",
            hint="Start the server as its owner, or choose another: mill up --data-dir",
        )
    return Check(name="data dir", ok=True, message=f"{path} is readable and writable")


def _plugins(mill: Session) -> Check:
    """Those of other packages. Each is loaded: a broken one is better found here than when a job needs it."""
    words: list[str] = []
    for group, name in plugins.external():
        try:
            found = plugins.find(group, name)
            found.load()
        except MillError as error:
            return Check(name="plug-ins", ok=False, message=error.message, hint=error.hint)
        words.append(f"{found.kind} {name} ({found.package} {found.version})")
    return Check(name="plug-ins", ok=True, message=", ".join(words) or "none installed")


def _proxies(mill: Session) -> Check:
    return proxy_check(mill.target.server, os.environ)


def proxy_check(server: str, environ: Mapping[str, str]) -> Check:
    """Which proxies are set, and which of them leads to the server."""
    found = {scheme: configured_proxy(scheme, environ) for scheme in ("http", "https")}
    words = ", ".join(f"{scheme}: {_without_password(proxy)}" for scheme, proxy in found.items() if proxy)
    if not words:
        return Check(name="proxies", ok=True, message="none set")
    host = urlsplit(server).hostname or ""
    try:
        used = proxy_for(server, environ)
    except SetupError as error:
        return Check(name="proxies", ok=False, message=error.message, hint=error.hint)
    if used:
        return Check(name="proxies", ok=True, message=f"{words}; used for {host}")
    why = ", which is local" if is_local_host(host) else ""
    return Check(name="proxies", ok=True, message=f"{words}; not used for {host}{why}")


def _port(mill: Session) -> Check:
    """Whether the port of a local server is free, or taken by a server."""
    parts = urlsplit(mill.target.server)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((host, port), timeout=3):
            return Check(name="port", ok=True, message=f"a server listens at {host}:{port}")
    except OSError as error:
        proxied = False
        start = "Start the server: mill up" if is_local_host(host) else "Check the address, the network and proxies."
        with suppress(SetupError):  # told by the check of proxies
            proxied = proxy_for(mill.target.server) is not None
        return Check(name="port", ok=proxied, message=f"no answer from {host}:{port}: {error}", hint=start)


def _server(mill: Session) -> list[Check]:
    try:
        response = mill.api.request("GET", "/session")
        version = whoami(mill.api).server_version
        checks = [_clock(response.headers.get("Date")), _versions(version)]
        return [*checks, *_from_server(mill)]
    except MillError as error:
        return [Check(name="server", ok=False, message=error.message, hint=error.hint), *_parts(mill)]


def _clock(date: str | None) -> Check:
    if not date:
        return Check(name="clock", ok=True, message="the server sent no time")
    skew = (datetime.now(UTC) - email.utils.parsedate_to_datetime(date)).total_seconds()
    # The header has whole seconds, and came a moment ago.
    away = f"{format_seconds(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the server's"
    return Check(
        name="clock",
        ok=abs(skew) <= MOST_SKEW,
        message="agrees with the server's" if abs(skew) < 3 else away,
        hint="Synchronize this machine's clock (NTP): signed URLs and tokens depend on it.",
    )


def _versions(server: str) -> Check:
    same = server.split(".")[:2] == __version__.split(".")[:2]
    return Check(
        name="versions",
        ok=same,
        message=f"client {__version__}, server {server}",
        hint="Install the server's version: pip install millpond==" + server,
    )


def _parts(mill: Session) -> list[Check]:
    """What a server that cannot answer says of itself."""
    try:
        parts = mill.api.get("/health", ServerHealth).parts
    except MillError:
        return []
    hint = "It continues by itself once this is back. See the server's log."
    return [Check(name=part.name, ok=part.ok, message=part.message, hint=hint) for part in parts]


def _from_server(mill: Session) -> list[Check]:
    try:
        return mill.api.get("/doctor", Doctor).checks
    except NotFound:
        return [Check(name="server", ok=False, message="the server is too old for this check", hint="Upgrade it.")]


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
