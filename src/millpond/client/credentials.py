"""The user's own files: tokens by server, the default project; and which server a call goes to.

Precedence: flag, then environment (`MILL_SERVER`, `MILL_TOKEN`, `MILL_PROJECT`), then the working copy's
`.mill/config.json`, then the user's own files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path, user_config_path, user_state_path

from millpond.client.files import write_atomically
from millpond.client.servers import DEFAULT_SERVER, KnownServer, SavedLogins, name_for, normalize_server
from millpond.client.working_copy import find_working_copy
from millpond.errors import SetupError
from millpond.model.names import DEFAULT_PROJECT, check_name

_PROJECT_LINE = re.compile(r"^\s*project\s*=.*$", re.MULTILINE)


class ChosenBy(Enum):
    """What named the server of a call."""

    FLAG = "--server"
    VARIABLE = "MILL_SERVER"
    FOLDER = "folder"
    CURRENT = "current"
    DEFAULT = "default"


class ServerTarget(NamedTuple):
    """The server, token and project of a call; `project` is `default` when nothing names one."""

    server: str
    token: str | None
    project: str
    chosen_by: ChosenBy = ChosenBy.DEFAULT


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


def load_credentials(directory: Path) -> SavedLogins:
    """What `credentials.json` says; nothing when there is no such file."""
    path = directory / "credentials.json"
    try:
        document = json.loads(path.read_text("utf-8"))
        servers: dict[str, KnownServer] = {}
        for url, entry in document["servers"].items():
            name = entry.get("name") or name_for(url, [known.name for known in servers.values()])
            servers[url] = KnownServer(entry["token"], entry.get("id"), name)
        return SavedLogins(servers, document.get("current"))
    except (FileNotFoundError, NotADirectoryError):
        return SavedLogins()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(f"Cannot read {path}: {error}", hint="Move it away and run: mill login") from error


def save_credentials(directory: Path, credentials: SavedLogins) -> None:
    document = {
        "servers": {url: _entry(kept) for url, kept in sorted(credentials.servers.items())},
        "current": credentials.current,
    }
    write_atomically(directory / "credentials.json", json.dumps(document, indent=2).encode() + b"\n", mode=0o600)


def save_token(
    directory: Path, server: str, token: str, token_id: str | None = None, *, name: str | None = None
) -> SavedLogins:
    """Keep `token` for `server` and make that server the current one."""
    saved = load_credentials(directory).with_server(server, token, token_id, name)._replace(current=server)
    save_credentials(directory, saved)
    return saved


def save_local_token(directory: Path, server: str, token: str) -> SavedLogins:
    """Keep `token` for a server that was started here. It becomes current only if no other server is."""
    known = load_credentials(directory).with_server(server, token)
    saved = known if known.current else known._replace(current=server)
    save_credentials(directory, saved)
    return saved


def forget_server(directory: Path, server: str) -> SavedLogins:
    """Drop the token of `server`; what is left."""
    left = load_credentials(directory).without(server)
    save_credentials(directory, left)
    return left


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
        raise SetupError(f"Cannot read {path}: {error}", hint="Fix the file or move it away.") from error
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
) -> ServerTarget:
    """The target of a call made in `directory` (the current one by default) with these flags."""
    home = config_dir(environ)
    known = load_credentials(home)
    local = _working_copy_settings(directory or Path.cwd())
    chosen_by, written = _first_named(
        (ChosenBy.FLAG, server),
        (ChosenBy.VARIABLE, environ.get("MILL_SERVER")),
        (ChosenBy.FOLDER, local.get("server")),
        (ChosenBy.CURRENT, known.current),
    )
    # A folder holds an address, never a name: whoever made it may have other names than we have.
    is_ours = chosen_by in (ChosenBy.FLAG, ChosenBy.VARIABLE)
    url = known.url_of(written) if is_ours else normalize_server(written)
    return ServerTarget(
        server=url,
        # A token is only ever sent to a server its owner named: a folder somebody else made must not redirect it.
        token=(environ.get("MILL_TOKEN") if is_ours or url in (*known.servers, DEFAULT_SERVER) else None)
        or known.token_of(url),
        project=project or environ.get("MILL_PROJECT") or local.get("project") or load_project(home) or DEFAULT_PROJECT,
        chosen_by=chosen_by,
    )


def _first_named(*named: tuple[ChosenBy, str | None]) -> tuple[ChosenBy, str]:
    return next(((by, written) for by, written in named if written), (ChosenBy.DEFAULT, DEFAULT_SERVER))


def _entry(kept: KnownServer) -> dict[str, str]:
    entry = {"token": kept.token, "id": kept.token_id, "name": kept.name}
    return {key: value for key, value in entry.items() if value}


def _working_copy_settings(directory: Path) -> dict[str, Any]:
    found = find_working_copy(directory)
    return {"server": found.server, "project": found.project} if found else {}
