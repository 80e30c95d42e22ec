"""Where a run comes from, as the script can tell: command, Git, host, Python, packages."""

from __future__ import annotations

import getpass
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from millpond.client.git import read_state

MAX_DIFF = 200_000
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
    }
    folder = _script_folder()
    state = read_state(folder)
    if state is not None:
        diff = uncommitted(folder)
        found["git"] = {
            "commit": state.commit, "branch": state.branch, "url": state.url, "dirty": list(state.dirty[:100]),
            "diff": diff[:MAX_DIFF], "is_diff_cut": len(diff) > MAX_DIFF,
        }  # fmt: skip
    return found


def packages() -> list[str]:
    """Installed distributions as `name==version`."""
    found = {
        f"{one.metadata['Name']}=={one.version}"
        for one in metadata.distributions()
        if one.metadata and one.metadata["Name"]
    }
    return sorted(found, key=str.lower)


def uncommitted(folder: Path) -> str:
    """What differs from the commit, as Git writes it; empty if Git does not say."""
    command = ["git", "-C", str(folder), "diff", "HEAD", "--no-color", "--no-ext-diff"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _script_folder() -> Path:
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(script).resolve().parent if script else Path.cwd()


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None
