"""A server in this process, the environment that leads to it, and folders that become datasets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from millpond.client.datasets import create_dataset, get_dataset
from millpond.client.http import Api
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy
from millpond.errors import NameTaken
from millpond.testing.server import ADMIN, RunningServer, running_server
from millpond.wire.data import Commit


@dataclass
class DataServer:
    """Signed in as the administrator, whose home is `home`."""

    server: RunningServer
    home: Path
    api: Api

    def commit(self, folder: Path, name: str, branch: str = "main", message: str = "") -> Commit:
        """What `folder` holds as the next commit of a dataset, made if need be."""
        try:
            dataset = create_dataset(self.api, "default", name)
        except NameTaken:
            dataset = get_dataset(self.api, "default", name)
        head = dataset.head if branch == "main" else None
        copy = WorkingCopy(folder, self.server.url, "default", name, dataset.id, branch, head)
        done = sync(self.api, copy, message=message)
        assert done.commit is not None
        return done.commit


@contextmanager
def data_server(root: Path) -> Iterator[DataServer]:
    """Until the block ends, `MILL_SERVER`, `MILL_TOKEN` and `MILL_HOME` lead to it."""
    with running_server(root / "server") as server, pytest.MonkeyPatch.context() as environment:
        token = server.token_of(ADMIN)
        home = root / "home"
        for name, value in (("MILL_SERVER", server.url), ("MILL_TOKEN", token), ("MILL_HOME", str(home))):
            environment.setenv(name, value)
        environment.delenv("MILL_PROJECT", raising=False)
        with Api(server.url, token) as api:
            yield DataServer(server, home, api)
