"""One file of a commit through the server: whole or in part, also when answers break off."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.client.edits import put_files
from millpond.client.file_reader import read_file
from millpond.errors import Conflict, Corrupt, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.services.commits.pages import PageCache
from millpond.services.datasets import files, reading
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_dataset, the_project
from tests.integration.data_server import DataServer, data_server

BIG = random.Random(11).randbytes(9_000_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    with data_server(tmp_path_factory.mktemp("reading")) as running:
        folder = tmp_path_factory.mktemp("folder")
        (folder / "big").write_bytes(BIG)
        running.commit(folder, "xray")
        yield running


class Breaking:
    """Reads blobs, but for some: there the server ends the connection."""

    def __init__(self, *fails: int) -> None:
        self._fails = fails
        self._real = files.read_blob
        self.calls = 0

    def __call__(self, *arguments: object) -> memoryview:
        self.calls += 1
        if self.calls in self._fails:
            raise RuntimeError("as if the server were stopped here")
        return self._real(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "wanted"),
    [(None, BIG), ("100-8999998", BIG[100:-1]), ("7-", BIG[7:]), ("-8000000", BIG[-8_000_000:])],
    ids=["whole", "from-to", "from", "last"],
)
def test_an_answer_that_breaks_off_is_continued(
    server: DataServer, monkeypatch: pytest.MonkeyPatch, part: str | None, wanted: bytes
) -> None:
    breaking = Breaking(3, 6)  # the chunk list is the first of each answer
    monkeypatch.setattr(files, "read_blob", breaking)
    assert b"".join(read_file(server.api, "default", "xray", "main", "big", part)) == wanted
    assert breaking.calls > 6


def test_one_that_breaks_off_again_and_again_is_said_to(server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it ends and of which file, and not that there is no server."""

    def broken(file: files.OpenFile, deps: Deps, start: int, end: int) -> Iterator[bytes]:
        if start == 0:
            yield BIG[:1000]
        raise RuntimeError("as if the server were stopped here")

    monkeypatch.setattr(files.OpenFile, "read", broken)
    with pytest.raises(Unavailable, match=r"'big' of xray@main stops at byte 1,000 of 9,000,000") as caught:
        list(read_file(server.api, "default", "xray", "main", "big"))
    assert "mill data verify" in str(caught.value.hint)


def test_a_branch_that_moves_while_its_file_is_read_is_told(
    server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning of one file and the end of another is neither."""
    folder = tmp_path / "moving"
    folder.mkdir()
    (folder / "big").write_bytes(BIG)
    server.commit(folder, "moving")
    breaking = Breaking(4)
    monkeypatch.setattr(files, "read_blob", breaking)
    pieces = read_file(server.api, "default", "moving", "main", "big")
    next(pieces)
    (folder / "other").write_bytes(BIG[::-1])
    put_files(server.api, "default", "moving", {"big": folder / "other"})
    with pytest.raises(Conflict, match="changed while it was read"):
        list(pieces)


def test_a_page_that_the_lake_has_lost_is_damage(server: DataServer, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    server.commit(tmp_path, "lost")
    deps = replace(server.server.deps, pages=PageCache())
    dataset = a_dataset(deps, "lost")
    commit = reading.get_commit(deps, dataset, "main")
    deps.store.delete(ProjectKeys(the_project(deps).id).page(commit.tree))
    with pytest.raises(Corrupt, match="missing from the lake"):
        files.open_file(deps, dataset, commit, "a")
    with pytest.raises(Corrupt, match="missing from the lake"):
        reading.entries(deps, dataset, commit, path="", limit=10, cursor=None)
