"""Places outside the lake for tests: buckets of a real S3 server, filled without any of our code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import urllib3

from millpond.blobs.location import open_store
from millpond.client.connections import create_connection
from millpond.client.datasets import create_dataset
from millpond.client.http import Api
from millpond.client.sources import import_objects
from millpond.services.lake import lake_owner
from millpond.services.sources.source_runs import run_due
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import ADMIN, RunningServer, running_server
from millpond.wire.imports import Connection, ConnectionCreate, Credentials, Import, Imported

KEYS = Credentials.model_validate({"key_id": "somebody", "secret": "else"})


@dataclass(frozen=True)
class Bucket:
    endpoint: str
    name: str

    def put(self, key: str, content: bytes) -> None:
        assert self._send("PUT", key, content) == 200

    def remove(self, key: str) -> None:
        assert self._send("DELETE", key) in (200, 204)

    def make(self) -> Bucket:
        assert self._send("PUT", "") in (200, 409)
        return self

    def _send(self, method: str, key: str, content: bytes | None = None) -> int:
        url = f"{self.endpoint}/{self.name}" + (f"/{quote(key)}" if key else "")
        return urllib3.request(method, url, body=content, retries=False, timeout=60.0).status


@dataclass
class Importing:
    """A server whose lake is one bucket of SeaweedFS, beside another bucket to import from."""

    server: RunningServer
    api: Api
    bucket: Bucket
    lake: Seaweed

    def connect(self, name: str, *, project: str = "default", **more: object) -> Connection:
        """A connection to the other bucket, or wherever `more` says."""
        asked = {"url": f"s3://{self.bucket.name}", "endpoint": self.bucket.endpoint, "credentials": KEYS} | more
        return create_connection(self.api, project, ConnectionCreate.model_validate({"name": name, **asked}))

    def dataset(self, name: str, *, project: str = "default") -> str:
        create_dataset(self.api, project, name)
        return name

    def bring(self, dataset: str, connection: str, uri: str, **more: object) -> Imported:
        asked = Import.model_validate({"connection": connection, "uri": uri, **more})
        return import_objects(self.api, "default", dataset, asked)

    def run_sources(self) -> int:
        return run_due(self.server.deps, self.server.deps.clock.now())

    def uri(self, key: str = "") -> str:
        return f"s3://{self.bucket.name}/{key}"


@contextmanager
def importing(root: Path, seaweed: Seaweed, *, bucket: str, hosts: str = "127.0.0.1") -> Iterator[Importing]:
    """Until the block ends, `MILL_SERVER`, `MILL_TOKEN` and `MILL_HOME` lead to the server."""
    lake_url = seaweed.url(f"lake-beside-{bucket}")
    with pytest.MonkeyPatch.context() as environment:
        # As on a server whose lake is on S3: these are the lake's, and no import may use them.
        for name, value in CREDENTIALS.items():
            environment.setenv(name, value)
        store = open_store(lake_url)
        running = running_server(root / "server", store=store, lake_url=lake_url, import_hosts=hosts)
        with running as server:
            lake_owner.claim(server.deps.db, store, server.deps.clock.now())
            token = server.token_of(ADMIN)
            for name, value in (("MILL_SERVER", server.url), ("MILL_TOKEN", token), ("MILL_HOME", str(root / "home"))):
                environment.setenv(name, value)
            environment.delenv("MILL_PROJECT", raising=False)
            with Api(server.url, token) as api:
                yield Importing(server, api, Bucket(seaweed.endpoint, bucket).make(), seaweed)
