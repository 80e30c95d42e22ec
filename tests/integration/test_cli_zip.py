"""`mill data zip`: a zip file that is whole, or none."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.client.archives import save_zip
from millpond.client.http import Api
from millpond.errors import NameTaken, NotFound, Unavailable
from tests.integration.data_server import DataServer, data_server
from tests.unit.client.fake_server import Answer, running_server


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    root = tmp_path_factory.mktemp("cli-zip")
    with data_server(root) as running:
        (root / "source/train").mkdir(parents=True)
        (root / "source/train/a.txt").write_text("one")
        (root / "source/b.txt").write_text("two")
        running.commit(root / "source", "xray")
        yield running


def test_a_directory_is_saved_once(data: DataServer, tmp_path: Path) -> None:
    seen: list[int] = []
    target = tmp_path / "new folder" / "train.zip"
    size = save_zip(data.api, "default", "xray", "main", "train", target, progress=seen.append)
    assert size == target.stat().st_size == seen[-1]
    with zipfile.ZipFile(target) as found:
        assert found.read("train/a.txt") == b"one"
    with pytest.raises(NameTaken, match="already exists"):
        save_zip(data.api, "default", "xray", "main", "", target)
    save_zip(data.api, "default", "xray", "main", "", target, force=True)
    with zipfile.ZipFile(target) as found:
        assert found.read("xray/b.txt") == b"two"


def test_nothing_is_left_of_an_archive_that_ends_early(tmp_path: Path) -> None:
    with running_server() as server:
        server.on("GET", ".*/zip", lambda r: Answer(body=b"PK\3\4", headers={"Content-Length": "1000"}))
        with Api(server.url) as api, pytest.raises(Unavailable, match="cut off"):
            save_zip(api, "default", "xray", "main", "", tmp_path / "x.zip")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_said(data: DataServer, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        save_zip(data.api, "default", "xray", "main", "gone", tmp_path / "x.zip")
    assert list(tmp_path.iterdir()) == []
