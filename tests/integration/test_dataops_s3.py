"""The toolkit's S3 verbs between a directory and a real bucket, through a connection of the project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.cli.main import main
from millpond.dataops import traditional
from millpond.dataops.errors import DataOpsError
from millpond.testing.seaweed import Seaweed
from tests.integration.outside import Importing, importing


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("dataops"), seaweed, bucket="toolkit") as running:
        running.connect("archive", writable=True)
        yield running


@pytest.fixture(autouse=True)
def signed_in(there: Importing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MILL_SERVER", there.api.base_url)
    monkeypatch.setenv("MILL_TOKEN", there.api.token or "")
    monkeypatch.setenv("MILL_HOME", str(tmp_path / "home"))


def bucket_of(there: Importing) -> str:
    return there.uri("").removeprefix("s3://").partition("/")[0]


def test_a_bucket_and_an_object_are_pulled(there: Importing, tmp_path: Path) -> None:
    for key in ("raw/2025/a", "raw/2026/a", "raw/2026-b", "other/a"):
        there.bucket.put(key, key.encode())
    local, bucket = tmp_path / "volume", bucket_of(there)
    traditional.pull_bucket_from_s3(bucket, str(local), "raw/2026")
    found = {str(path.relative_to(local)) for path in local.rglob("*") if path.is_file() and ".mill" not in str(path)}
    assert found == {"raw/2026/a", "raw/2026-b"}, "keys that begin so, whole"
    traditional.pull_object_from_s3(bucket, "other/a", str(local / "one"))
    traditional.pull_object_from_s3(bucket, "raw/2025/a", str(local / "one"))
    assert (local / "one").read_bytes() == b"raw/2025/a", "in the place of what was there"
    with pytest.raises(traditional.APIConnectionError, match="no object 'other/none'"):
        traditional.pull_object_from_s3(bucket, "other/none", str(local / "none"))
    assert not (local / "none").exists()
    with pytest.raises(traditional.APIConnectionError, match="No connection"):
        traditional.pull_bucket_from_s3("elsewhere", str(local))


def test_what_was_changed_here_is_told_and_left(there: Importing, tmp_path: Path) -> None:
    there.bucket.put("mine/a", b"first")
    traditional.pull_bucket_from_s3(bucket_of(there), str(tmp_path), "mine/")
    (tmp_path / "mine/a").write_bytes(b"by hand")
    there.bucket.put("mine/a", b"second")
    with pytest.raises(traditional.APIConnectionError, match="left as they are: a"):
        traditional.pull_bucket_from_s3(bucket_of(there), str(tmp_path), "mine/")
    assert (tmp_path / "mine/a").read_bytes() == b"by hand"


def test_a_directory_and_a_file_are_pushed(
    there: Importing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = bucket_of(there)
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/deep/a").write_bytes(b"one")
    traditional.push_directory_to_s3(bucket, str(tmp_path / "out"), "results/")
    assert pulled(bucket, "results/deep/a", tmp_path) == b"one"
    traditional.push_file_to_s3(bucket, str(tmp_path / "out/deep/a"), "results/b")
    (tmp_path / "out/deep/a").write_bytes(b"two")
    command = ["--json", "dataops", "push-to-s3", "file", f"--bucket={bucket}", "-f", str(tmp_path / "out/deep/a")]
    assert main([*command, "--key=results/b"]) == 0
    assert json.loads(capsys.readouterr().out) == {"done": "push-to-s3 file"}
    assert pulled(bucket, "results/b", tmp_path) == b"two", "in the place of what was there"
    with pytest.raises(DataOpsError, match="There is no directory"):
        traditional.push_directory_to_s3(bucket, str(tmp_path / "none"))
    with pytest.raises(DataOpsError, match="There is no file"):
        traditional.push_file_to_s3(bucket, str(tmp_path / "none"))


def pulled(bucket: str, key: str, folder: Path) -> bytes:
    traditional.pull_object_from_s3(bucket, key, str(folder / "back"))
    return (folder / "back").read_bytes()
