"""The oddest folder that a file system holds goes through the command line into the lake and comes back exactly."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.testing.lake import Thing, read_things, write_things
from tests.integration.cli import Mill, ServerHere, server_here
from tests.integration.real_lake import tree

LONG = b"n" * 255
# As deep as 4,000 bytes of path go.
DEEP = b"/".join([b"d" * 250] * 15 + [b"e" * 200])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("exact")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def odd_things() -> list[Thing]:
    return [
        Thing(b"empty-file", b""),
        Thing(b"empty-directory"),
        Thing(b"deeper/and/empty"),
        Thing(b"run.sh", b"#!/bin/sh\n", executable=True),
        Thing(b"empty-but-executable", b"", executable=True),
        Thing(b"inside", b"run.sh", link=True),
        Thing(b"to-a-directory", b"deeper", link=True),
        Thing(b"outside", b"../../../etc/passwd", link=True),
        Thing(b"absolute", b"/etc/passwd", link=True),
        Thing(b"nowhere", b"\xff\n nothing", link=True),
        Thing("caf\u00e9".encode(), b"composed"),
        Thing("cafe\u0301".encode(), b"decomposed"),
        Thing(b"new\nline", b"1"),
        Thing(b"tab\tand\x01\x7f\x1b[31m", b"2"),
        Thing(b"not-utf-8-\xff\xfe\x80", b"3"),
        Thing(b"back\\slash\\x41", b"4"),
        Thing(b" leading and trailing ", b"5"),
        Thing(b"-rf", b"6"),
        Thing(b"Case", b"upper"),
        Thing(b"case", b"lower"),
        Thing(b"CASE/x", b"directory"),
        Thing(b"a/b", b"7"),
        Thing(b"a-b", b"8"),
        Thing(b"a.b", b"9"),
        Thing(b"a0", b"10"),
        Thing(LONG, b"long name"),
        Thing(b"one/" + LONG, b"long name below"),
        Thing(b"text", b"the same line again and again\n" * 50_000),
        Thing(b"exactly-1-MiB", b"x" * (1 << 20)),
        Thing(b"one-more", b"y" * ((1 << 20) + 1)),
        Thing(b"noise", os.urandom(5_000_000)),
    ]


def add_what_a_path_cannot_reach(folder: Path) -> None:
    """A path of 4,000 bytes (longer than one call takes with its folder), a sparse file, hard links."""
    here = os.open(folder, os.O_RDONLY)
    for part in DEEP.split(b"/"):
        os.mkdir(part, dir_fd=here)
        below = os.open(part, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with os.fdopen(os.open(b"leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
        file.write(b"far down")
    os.close(here)
    with (folder / "sparse").open("wb") as file:
        file.write(b"begin")
        file.truncate(40 << 20)
        file.seek(30 << 20)
        file.write(b"middle")
    (folder / "first").write_bytes(b"two names")
    (folder / "second").hardlink_to(folder / "first")


def read_deep(folder: Path) -> bytes:
    here = os.open(folder, os.O_RDONLY)
    for part in DEEP.split(b"/"):
        below = os.open(part, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    try:
        with os.fdopen(os.open(b"leaf", os.O_RDONLY, dir_fd=here), "rb") as file:
            return file.read()
    finally:
        os.close(here)


def test_every_odd_thing_comes_back_exactly(mill: Mill, tmp_path: Path) -> None:
    folder, copy = tmp_path / "odd", tmp_path / "copy"
    write_things(folder, odd_things())
    add_what_a_path_cannot_reach(folder)
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    mill.ok("data", "clone", "odd", "copy")
    assert shallow(copy) == shallow(folder)
    assert read_deep(copy) == b"far down"
    assert (copy / "second").read_bytes() == b"two names"
    assert (copy / "second").stat().st_nlink == 1, "equal files, not one"
    assert mill.ok("data", "status", "--json", cwd=copy).json["items"] == []


def shallow(root: Path) -> list[Thing]:
    """All but the deep path, which is longer than a call takes."""
    (deep,) = [path for path in os.listdir(os.fsencode(root)) if path.startswith(b"ddd")]
    os.rename(root / os.fsdecode(deep), root.with_name(f"{root.name}-deep"))  # noqa: PTH104
    try:
        return tree(root)
    finally:
        os.rename(root.with_name(f"{root.name}-deep"), root / os.fsdecode(deep))  # noqa: PTH104


@pytest.mark.long
def test_what_is_no_file_is_skipped_with_a_warning_and_ignored_is_left_out(mill: Mill, tmp_path: Path) -> None:
    folder, copy = tmp_path / "special", tmp_path / "copy"
    write_things(
        folder,
        [
            Thing(b".millignore", b"*.tmp\n!keep.tmp\n/build/\n"),
            Thing(b"a.tmp", b"1"),
            Thing(b"sub/b.tmp", b"2"),
            Thing(b"keep.tmp", b"3"),
            Thing(b"build/out", b"4"),
            Thing(b"sub/build/out", b"5"),
        ],
    )
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(folder, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/socket")  # the whole path may be too long for one
        os.close(here)
        mill.ok("data", "init", cwd=folder)
        said = mill.ok("data", "sync", cwd=folder).err
    assert "pipe" in said
    assert "socket" in said
    mill.ok("data", "clone", "special", "copy")
    found = {thing.path for thing in read_things(copy) if not thing.path.startswith(b".mill/")}
    assert found == {b".millignore", b"keep.tmp", b"sub/build/out"}
