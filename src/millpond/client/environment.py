"""Requirements of a job's environment: committed, and found again by their tree.

The commit holds `requirements.txt`, perhaps `constraints.txt`, and the program that builds them. Equal requirements
make equal trees.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from millpond.client.code import commit_code
from millpond.client.credentials import state_dir
from millpond.client.files import write_atomically
from millpond.client.http import Api
from millpond.requirements import read_requirements
from millpond.wire.quick.data import Commit


def commit_environment(api: Api, project: str, path: Path) -> Commit:
    """The commit that `JobCreate.environment` names, for a requirements, pyproject or lock file."""
    files = read_requirements(path).files()
    digest = hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in sorted(files.items())).encode()).hexdigest()
    folder = state_dir() / "environments" / digest[:24]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomically(folder / name, text.encode())
        (folder / name).chmod(0o644)
    return commit_code(api, project, folder)
