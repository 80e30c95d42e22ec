"""Where the client keeps what it knows: tokens by server, the default project, and how a call finds its server.

Precedence: flag, then environment (`MILL_SERVER`, `MILL_TOKEN`, `MILL_PROJECT`), then the working copy's
`.mill/config.json`, then the user's own files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from platformdirs import user_cache_path, user_config_path, user_state_path

from millpond.client.files import write_atomically
from millpond.client.working_copy import find_working_copy
from millpond.errors import BadRequest, SetupError
from millpond.model.address import is_local_host
from millpond.model.names import DEFAULT_PROJECT, check_name

DEFAULT_SERVER = "http://127.0.0.1:8420"

_PROJECT_LINE = re.compile(r"^\s*project\s*=.*$", re.MULTILINE)


class KnownServer(NamedTuple):
    """A token kept for one server; its id, when known, lets `logout` revoke it there."""

    token: str
    token_id: str | None = None


class Credentials(NamedTuple):
    """What is kept by server, and the server used when nothing else names one."""

    servers: Mapping[str, KnownServer] = MappingProxyType({})
    current: str | None = None

    def token_of(self, server: str) -> str | None:
        known = self.servers.get(server)
        return known.token if known else None


class Target(NamedTuple):
    """Whom to talk to, as whom, about which project; `project` is the default one when nobody named any."""

    server: str
    token: str | None
    project: str


def config_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """`MILL_HOME`, or the platform's place for an application's settings."""
    chosen = environ.get("MILL_HOME")
    return Path(chosen) if chosen else user_config_path("millpond")


def state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """`MILL_HOME`, or the platform's place for what an application keeps between runs."""
    chosen = environ.get("MILL_HOME")
    return Path(chosen) if chosen else user_state_path("millpond")


def spool_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where runs are kept until they are sent."""
    return state_dir(environ) / "spool"


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where copies of commits are kept; may be removed at any time. `cache` in `MILL_HOME`, or the platform's place."""
    chosen = environ.get("MILL_HOME")
    return Path(chosen) / "cache" if chosen else user_cache_path("millpond")


def normalize_server(url: str) -> str:
    """One spelling per server: scheme and host in lower case, no slash at the end, http for local addresses."""
    text = url.strip()
    if "://" not in text:
        host = urlsplit(f"//{text}").hostname or ""
        text = f"{'http' if is_local_host(host) else 'https'}://{text}"
    parts = urlsplit(text)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise BadRequest(f"{url!r} is not the address of a server.", hint="Write it as http://host:8420.")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


def load_credentials(directory: Path) -> Credentials:
    """What `credentials.json` says; nothing when there is no such file."""
    path = directory / "credentials.json"
    try:
        document = json.loads(path.read_text("utf-8"))
        servers = {url: KnownServer(entry["token"], entry.get("id")) for url, entry in document["servers"].items()}
        return Credentials(servers, document.get("current"))
    except (FileNotFoundError, NotADirectoryError):
        return Credentials()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(f"{path} cannot be read: {error}", hint="Move it away and run: mill login") from error


def save_token(directory: Path, server: str, token: str, token_id: str | None = None) -> None:
    """Keep `token` for `server` and make that server the current one."""
    known = load_credentials(directory)
    _save(directory, Credentials({**known.servers, server: KnownServer(token, token_id)}, server))


def forget_server(directory: Path, server: str) -> bool:
    """Drop the token of `server`; False when there was none."""
    known = load_credentials(directory)
    rest = {url: kept for url, kept in known.servers.items() if url != server}
    current = known.current if known.current != server else next(iter(rest), None)
    _save(directory, Credentials(rest, current))
    return len(rest) < len(known.servers)


def load_project(directory: Path) -> str | None:
    """The default project in `config.toml`."""
    path = directory / "config.toml"
    try:
        text = path.read_text("utf-8")
        # Few have this file, and every command would pay for what reads it.
        import tomllib  # noqa: PLC0415

        document = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SetupError(f"{path} cannot be read: {error}", hint="Mend the file or move it away.") from error
    project = document.get("project")
    return str(project) if project else None


def save_project(directory: Path, project: str) -> None:
    """Make `project` the default one; the rest of `config.toml` stays as it is."""
    line = f'project = "{check_name(project, "project")}"'
    path = directory / "config.toml"
    text = path.read_text("utf-8") if path.exists() else ""
    text, found = _PROJECT_LINE.subn(line, text, count=1)
    # At the top: further down it could land inside a [table].
    write_atomically(path, (text if found else f"{line}\n{text}").encode())


def resolve_target(
    server: str | None = None,
    project: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    directory: Path | None = None,
) -> Target:
    """Whom a call made in `directory` (the current one by default) with these flags goes to."""
    home = config_dir(environ)
    known = load_credentials(home)
    local = _working_copy_settings(directory or Path.cwd())
    chosen = server or environ.get("MILL_SERVER")
    url = normalize_server(chosen or local.get("server") or known.current or DEFAULT_SERVER)
    return Target(
        server=url,
        # A token is only ever sent to a server its owner named: a folder somebody else made must not redirect it.
        token=(environ.get("MILL_TOKEN") if chosen or url in (*known.servers, DEFAULT_SERVER) else None)
        or known.token_of(url),
        project=project or environ.get("MILL_PROJECT") or local.get("project") or load_project(home) or DEFAULT_PROJECT,
    )


def _save(directory: Path, credentials: Credentials) -> None:
    document = {
        "servers": {url: _entry(kept) for url, kept in sorted(credentials.servers.items())},
        "current": credentials.current,
    }
    write_atomically(directory / "credentials.json", json.dumps(document, indent=2).encode() + b"\n", mode=0o600)


def _entry(kept: KnownServer) -> dict[str, str]:
    return {"token": kept.token, "id": kept.token_id} if kept.token_id else {"token": kept.token}


def _working_copy_settings(directory: Path) -> dict[str, Any]:
    found = find_working_copy(directory)
    return {"server": found.server, "project": found.project} if found else {}
