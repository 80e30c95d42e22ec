"""A place to import from that another package brings is used like the built-in ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond import plugins
from millpond.client import connections
from millpond.client.datasets import create_dataset
from millpond.client.file_reader import read_file
from millpond.client.http import Api
from millpond.client.sources import import_objects
from millpond.errors import BadRequest
from millpond.testing.plugins import declare, use_packages
from millpond.testing.server import ADMIN, running_server
from millpond.wire.imports import ConnectionCreate, Import

MODULE = """
from hashlib import sha256
from millpond.blobs.external import changed
from millpond.errors import Forbidden, NotFound
from millpond.model.connection import ExternalObject

BOOKS = {"novels/emma.txt": b"Emma Woodhouse", "novels/persuasion.txt": b"Sir Walter Elliot"}

class Shelf:
    def __init__(self, place):
        self.place = place
    def look(self, uri):
        data = BOOKS.get(self.place.key_of(uri))
        if data is None:
            raise NotFound(f"{uri} is not on the shelf.")
        return ExternalObject(uri, len(data), sha256(data).hexdigest())
    def list(self, uri):
        return (self.look(self.place.uri_of(key)) for key in sorted(BOOKS) if self.place.uri_of(key).startswith(uri))
    def read(self, found, start, end):
        if self.look(found.uri) != found:
            raise changed(found.uri, "it is another book")
        yield BOOKS[self.place.key_of(found.uri)][start:end]
    def sign(self, uri, seconds):
        return None
    def close(self):
        pass

def open_place(place, credentials, around):
    if credentials.get("bearer") != "library card":
        raise Forbidden("The shelf asks for a library card.")
    return Shelf(place)
"""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with running_server(tmp_path / "server") as server, Api(server.url, server.token_of(ADMIN)) as api:
        yield api


def asked(bearer: str = "library card") -> ConnectionCreate:
    return ConnectionCreate.model_validate({"name": "shelf", "url": "shelf://books", "credentials": {"bearer": bearer}})


def test_imports_from_a_place_of_a_plugin(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match="not a place to import from"):
        connections.create_connection(api, "default", asked())
    (tmp_path / "shelf_place.py").write_text(MODULE)
    declare(tmp_path, "mill-shelf", {plugins.SOURCES: {"shelf": "shelf_place:open_place"}})
    with monkeypatch.context() as installed:
        use_packages(installed, tmp_path)
        made = connections.create_connection(api, "default", asked())
        assert (made.kind, made.url) == ("shelf", "shelf://books/")
        assert connections.test_connection(api, "default", "shelf").objects == [
            "shelf://books/novels/emma.txt",
            "shelf://books/novels/persuasion.txt",
        ]
        create_dataset(api, "default", "library")
        wanted = Import.model_validate({"connection": "shelf", "uri": "shelf://books/novels/"})
        assert import_objects(api, "default", "library", wanted).added == 2
        assert b"".join(read_file(api, "default", "library", "main", "emma.txt")) == b"Emma Woodhouse"
    gone = connections.test_connection(api, "default", "shelf")
    assert not gone.works and "'shelf' needs a plug-in for shelf://" in (gone.problem or "")
