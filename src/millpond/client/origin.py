"""Where a run comes from, as the script can tell: command, Git, host, Python, packages."""

from __future__ import annotations

import getpass
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from millpond.client.git import read_state, without_password

MAX_DIFF = 200_000
# A larger file that Git does not know is data, and no code.
_MAX_NEW_FILE = 50_000
_MOST_NEW_FILES = 1000
_GIT_SECONDS = 10.0


def read_origin() -> dict[str, Any]:
    """A document for `RunBatch.origin`. Parts that cannot be told are left out."""
    found: dict[str, Any] = {
        "command": list(sys.orig_argv),
        "directory": str(Path.cwd()),
        "host": platform.node(),
        "os": platform.platform(),
        "cpus": os.cpu_count(),
        "user": _user(),
        "python": platform.python_version(),
        "packages": packages(),
        "local_packages": local_packages(),
    }
    top = top_folder(_script_folder())
    state = read_state(top)
    if state is not None:
        diff = uncommitted(top)
        found["git"] = {
            "commit": state.commit, "branch": state.branch, "url": state.url, "top": str(top),
            "dirty": list(state.dirty[:100]), "diff": diff[:MAX_DIFF], "is_diff_cut": len(diff) > MAX_DIFF,
        }  # fmt: skip
    return found


def packages() -> list[str]:
    """Installed distributions as `name==version`, those from a version control system as `name @ URL@COMMIT`."""
    return sorted({_written(one) for one in _distributions()}, key=str.lower)


def local_packages() -> list[str]:
    """Names of those that were installed from a folder or a file of this machine: no index has them."""
    found = {one.metadata["Name"] for one in _distributions() if _direct_url(one).get("url", "").startswith("file:")}
    return sorted(found, key=str.lower)


def _distributions() -> Iterator[metadata.Distribution]:
    return (one for one in metadata.distributions() if one.metadata and one.metadata["Name"])


def _written(one: metadata.Distribution) -> str:
    came = _direct_url(one)
    if "vcs_info" in came:
        source = f"{came['vcs_info'].get('vcs')}+{without_password(came['url'])}@{came['vcs_info'].get('commit_id')}"
        return f"{one.metadata['Name']} @ {source}"
    return f"{one.metadata['Name']}=={one.version}"


def _direct_url(one: metadata.Distribution) -> dict[str, Any]:
    """Where a package came from, if not from an index (PEP 610)."""
    try:
        found = json.loads(one.read_text("direct_url.json") or "{}")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def uncommitted(top: Path) -> str:
    """What differs from the commit, as Git writes it, with new text files of a reasonable size; empty if Git is silent.

    New files are added to a copy of the index: that of the user stays as it is.
    """
    try:
        listed = _git(top, ["ls-files", "--others", "--exclude-standard", "-z"], os.environ).split("\0")
        new = [path for path in listed[:_MOST_NEW_FILES] if path and _is_small_text(top / path)]
        with tempfile.TemporaryDirectory(prefix="millpond-origin-") as temporary:
            index = Path(temporary) / "index"
            environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
            own = Path(_git(top, ["rev-parse", "--git-path", "index"], os.environ).strip())
            shutil.copyfile(top / own, index)
            if new:
                _git(top, ["add", "--intent-to-add", "--", *new], environment)
            return _git(top, ["diff", "HEAD", "--no-color", "--no-ext-diff"], environment)
    except (OSError, subprocess.SubprocessError):
        return ""


def top_folder(folder: Path) -> Path:
    try:
        return Path(_git(folder, ["rev-parse", "--show-toplevel"], os.environ).strip())
    except (OSError, subprocess.SubprocessError):
        return folder


def _git(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> str:
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=True, env=dict(environment))
    return done.stdout.decode(errors="replace")


def _is_small_text(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _MAX_NEW_FILE and b"\0" not in path.read_bytes()
    except OSError:
        return False


def _script_folder() -> Path:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(script).resolve().parent if script else Path.cwd()


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None
