"""Moves between a directory and a real bucket: only differences, verified, and nothing of others overwritten."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millpond.client.moving import move_request, parse_end
from millpond.errors import BadRequest
from millpond.mover.bucket import Bucket, MoveFailed, Server
from millpond.mover.keys import OWN
from millpond.mover.moving import Move, Summary
from millpond.mover.plan import There
from millpond.testing.seaweed import Seaweed
from millpond.testing.waiting import wait_until
from tests.integration.outside import Importing, importing

FILES = {f"{n % 3}/{n:03d}.bin": random.Random(n).randbytes(2000 + n) for n in range(40)} | {"empty": b""}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("moves"), seaweed, bucket="moves") as running:
        running.connect("archive", writable=True)
        running.connect("shown")
        yield running


def server_of(there: Importing, connection: str = "archive") -> Server:
    return Server(there.api.base_url, there.api.token or "", "default", connection)


def moved(there: Importing, prefix: str, directory: Path, **how: Any) -> Summary:
    directory.mkdir(exist_ok=True)
    return Move(Bucket(server_of(there), there.uri(prefix)), directory, **{"outwards": False, **how}).run()


def filled(there: Importing, prefix: str) -> None:
    for name, content in FILES.items():
        there.bucket.put(f"{prefix}/{name}", content)


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and OWN not in path.parts
    }


def written(directory: Path) -> Path:
    for name, data in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)
    return directory


def test_what_a_bucket_holds_comes_once_and_then_only_differences(there: Importing, tmp_path: Path) -> None:
    filled(there, "in")
    tried = moved(there, "in", tmp_path / "w", dry_run=True)
    assert (tried.copied, tried.copied_bytes) == (len(FILES), sum(map(len, FILES.values())))
    assert list((tmp_path / "w").iterdir()) == [], "nothing is written by a dry run"
    first = moved(there, "in", tmp_path / "w")
    assert (first.copied, first.failed_count, first.conflict_count) == (len(FILES), 0, 0)
    assert content(tmp_path / "w") == FILES
    there.bucket.put("in/0/000.bin", b"changed")
    there.bucket.remove("in/empty")
    second = moved(there, "in", tmp_path / "w")
    assert (second.copied, second.unchanged, second.removed) == (1, len(FILES) - 2, 0)
    assert (tmp_path / "w/0/000.bin").read_bytes() == b"changed"
    assert (tmp_path / "w/empty").exists(), "nothing is removed unless asked for"
    assert moved(there, "in", tmp_path / "w", delete=True).removed == 1
    assert not (tmp_path / "w/empty").exists()


def test_what_somebody_changed_here_is_neither_overwritten_nor_removed(there: Importing, tmp_path: Path) -> None:
    for name in ("both", "here", "gone"):
        there.bucket.put(f"mine/{name}", b"first")
    moved(there, "mine", tmp_path / "w")
    for name in ("both", "here", "gone"):
        (tmp_path / "w" / name).write_bytes(b"by hand")
    there.bucket.put("mine/both", b"second")
    there.bucket.remove("mine/gone")
    done = moved(there, "mine", tmp_path / "w", delete=True)
    assert done.conflicts == [("both", "changed here and in the bucket")]
    assert (done.copied, done.removed, done.kept) == (0, 0, 2)
    assert content(tmp_path / "w") == dict.fromkeys(("both", "gone", "here"), b"by hand")


def test_files_that_were_there_before_are_compared(there: Importing, tmp_path: Path) -> None:
    there.bucket.put("before/same", b"same")
    there.bucket.put("before/other", b"this one")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/same").write_bytes(b"same")
    (tmp_path / "w/other").write_bytes(b"that one")
    done = moved(there, "before", tmp_path / "w")
    assert (done.copied, done.unchanged) == (0, 1)
    assert done.conflicts == [("other", "a file of this name was here before")]


def test_files_go_to_a_bucket_and_only_differences_again(there: Importing, tmp_path: Path) -> None:
    source = written(tmp_path / "w")
    (source / "link").symlink_to("empty")
    first = moved(there, "out", source, outwards=True)
    assert (first.copied, first.failed_count) == (len(FILES), 0)
    assert first.skipped == [("link", "is no plain file")]
    back = moved(there, "out", tmp_path / "back")
    assert back.copied == len(FILES)
    assert content(tmp_path / "back") == FILES
    (source / "0/000.bin").write_bytes(b"new")
    (source / "empty").unlink()
    second = moved(there, "out", source, outwards=True, delete=True)
    assert (second.copied, second.unchanged, second.removed) == (1, len(FILES) - 2, 1)
    assert moved(there, "out", tmp_path / "back", delete=True).removed == 1
    assert (tmp_path / "back/0/000.bin").read_bytes() == b"new"


def test_an_object_that_others_changed_is_never_overwritten(there: Importing, tmp_path: Path) -> None:
    source = written(tmp_path / "w")
    there.bucket.put("theirs/0/003.bin", b"was there before")
    there.bucket.put("theirs/1/004.bin", FILES["1/004.bin"])
    first = moved(there, "theirs", source, outwards=True)
    assert first.conflicts == [("0/003.bin", "an object of this name was there before")]
    assert (first.copied, first.unchanged) == (len(FILES) - 2, 1)
    there.bucket.put("theirs/0/000.bin", b"by somebody else")
    (source / "0/000.bin").write_bytes(b"mine")
    second = moved(there, "theirs", source, outwards=True, delete=True)
    assert [path for path, _ in second.conflicts] == ["0/000.bin", "0/003.bin"]
    moved(there, "theirs", tmp_path / "back")
    assert (tmp_path / "back/0/000.bin").read_bytes() == b"by somebody else"


class OddBucket(Bucket):
    """Stores differ in which keys they take; this one has taken all of them."""

    def objects(self) -> Iterator[tuple[str, There]]:
        for key in ("../up", "a//b", "x" * 300, "both", f"{OWN}/x"):
            yield key, There(1, "e")
        yield "marker/", There(0, "e")
        yield from super().objects()


def test_keys_that_are_no_paths_are_listed_and_skipped(there: Importing, tmp_path: Path) -> None:
    for key in ("both/below", "plain"):
        there.bucket.put(f"odd/{key}", b"x")
    done = Move(OddBucket(server_of(there), there.uri("odd")), tmp_path, outwards=False).run()
    assert dict(done.skipped) == {
        "../up": "has the part '..'",
        "a//b": "has an empty part",
        "x" * 300: "has a part of more than 255 bytes",
        "both": "is a file and a directory of others",
        f"{OWN}/x": f"begins with '{OWN}', where the mover keeps its state",
    }
    assert sorted(content(tmp_path)) == ["both/below", "plain"]


def test_no_file_is_written_through_a_link(there: Importing, tmp_path: Path) -> None:
    there.bucket.put("links/out/file", b"x")
    (tmp_path / "w").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w/out").symlink_to(tmp_path / "elsewhere")
    done = moved(there, "links", tmp_path / "w")
    assert done.failed == [("out/file", "out is a symbolic link")]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_connection_for_reading_is_not_written(there: Importing, tmp_path: Path) -> None:
    source = written(tmp_path / "w")
    with pytest.raises(MoveFailed, match="is for reading only"):
        Move(Bucket(server_of(there, "shown"), there.uri("never")), source, outwards=True).run()
    with pytest.raises(BadRequest, match="reading only"):
        move_request(there.api, "default", "mount:m", there.uri("x"), connection="shown", delete=False, dry_run=False)


def test_a_place_beyond_the_connection_is_refused(there: Importing, tmp_path: Path) -> None:
    with pytest.raises(MoveFailed, match="is not a prefix below"):
        Move(Bucket(server_of(there), "s3://other-bucket/"), tmp_path, outwards=False).run()


PROGRAM = """
import sys
from pathlib import Path
from millpond.mover.bucket import Bucket, Server
from millpond.mover.moving import Move
url, token, uri, directory, way = sys.argv[1:]
move = Move(Bucket(Server(url, token, "default", "archive"), uri), Path(directory), outwards=way == "out", threads=2)
print(move.run().copied, flush=True)
"""


@pytest.mark.parametrize("outwards", [False, True], ids=["in", "out"])
def test_after_a_kill_it_goes_on_where_it_was(there: Importing, tmp_path: Path, outwards: bool) -> None:
    """Nothing that was noted is moved again, and no file is torn."""
    prefix, source = f"killed-{outwards}", tmp_path / "w"
    source.mkdir()
    if outwards:
        written(source)
    else:
        filled(there, prefix)
    command = [sys.executable, "-c", PROGRAM, there.api.base_url, there.api.token or "", there.uri(prefix)]
    process = subprocess.Popen([*command, str(source), "out" if outwards else "in"], stdout=subprocess.DEVNULL)

    def notes() -> int:
        return sum(len(file.read_bytes().splitlines()) for file in (source / OWN).glob("*.jsonl"))

    with suppress(AssertionError):  # it may be done before it is killed
        wait_until(lambda: notes() >= 5 or process.poll() is not None, what="a few files", within=60)
    process.kill()
    process.wait()
    before = content(source) if not outwards else {}
    assert all(data == FILES[name] for name, data in before.items()), "a file is whole or not there"
    done = notes()
    second = moved(there, prefix, source, outwards=outwards)
    assert second.copied <= len(FILES) - done + 2, "two threads may have been between a file and its note"
    assert (second.conflict_count, second.failed_count) == (0, 0)
    assert not list((source / OWN).glob("*.tmp"))
    if outwards:
        assert moved(there, prefix, tmp_path / "back").copied == len(FILES)
        assert content(tmp_path / "back") == FILES
    else:
        assert content(source) == FILES


def test_a_full_disk_ends_it_and_it_goes_on_with_room(there: Importing, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root and mounts")
    filled(there, "full")
    there.bucket.put("full/z", b"z" * 3_000_000)
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=False)
    if mounted.returncode:
        pytest.skip("no mounts here")
    try:
        with pytest.raises(MoveFailed, match="No room for z"):
            moved(there, "full", small)
        assert content(small) == FILES, "what came before it stays, whole"
        subprocess.run(["mount", "-o", "remount,size=10m", small], check=True)
        assert moved(there, "full", small).copied == 1
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize(
    ("text", "kind", "name", "path"),
    [
        ("s3://b/x", "s3", "s3://b/x", ""),
        ("mount:scratch/a", "mount", "scratch", "a"),
        ("lab", "workspace", "lab", ""),
        ("lab:raw/2026/", "workspace", "lab", "raw/2026"),
        ("x-ray@main:train", "dataset", "x-ray@main", "train"),
    ],
)
def test_ends_are_written_in_one_way(text: str, kind: str, name: str, path: str) -> None:
    found = parse_end(text)
    assert (found.kind, found.name, found.path) == (kind, name, path)


@pytest.mark.parametrize("text", ["gs://b/x", "Lab!", "mount:lab/../up", "lab:../up"])
def test_ends_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_end(text)
