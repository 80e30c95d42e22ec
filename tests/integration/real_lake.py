"""The command line as processes of their own, the API beside it, and folders compared bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from millpond.client.datasets import get_dataset, list_commits
from millpond.client.http import Api
from millpond.testing.lake import Thing, read_things
from millpond.testing.up import MillUp, environment
from tests.integration.cli import Server

SECONDS = 90.0


def begin(up: MillUp, cwd: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """`mill …` in a folder, as the local administrator."""
    return subprocess.Popen(
        [sys.executable, "-m", "millpond", *arguments],
        cwd=cwd,
        env=environment(up.home) | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def mill(up: MillUp, cwd: Path, *arguments: str, **more: str) -> str:
    """What the command printed; it must succeed."""
    running = begin(up, cwd, *arguments, **more)
    out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 0, err
    return out


def api_of(up: Server) -> Api:
    """Signed in as the command line of this machine is."""
    credentials = json.loads((up.home / "credentials.json").read_text())
    return Api(up.url, credentials["servers"][up.url]["token"])


def history(api: Api, dataset: str) -> list[str]:
    """The ids of all commits of its main branch, newest first."""
    if get_dataset(api, "default", dataset).head is None:
        return []
    return [commit.id for commit in list_commits(api, "default", dataset)]


def tree(root: Path) -> list[Thing]:
    """Everything in a working copy but its own notes."""
    return [thing for thing in read_things(root) if not thing.path.startswith(b".mill/")]
