from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from millpond.errors import NotFound
from millpond.lake.long_paths import opened_directory
from millpond.lake.scan import Skipped, scan
from millpond.lake.stable_read import read_whole
from millpond.model.tree import Kind
from millpond.testing.lake import Thing, things, write_things


def scanned(root: Path, **options: object) -> list[bytes]:
    return [found.path for found in scan(root, **options)]  # type: ignore[arg-type]


@given(things())
def test_finds_everything_in_the_order_of_trees(made: list[Thing]) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_things(Path(name), made)
        assert scanned(Path(name)) == [thing.path for thing in made]


def test_an_empty_directory_sorts_by_its_own_path(tmp_path: Path) -> None:
    write_things(tmp_path, [Thing(b"a"), Thing(b"a-b", b""), Thing(b"c/d", b""), Thing(b"c-d", b"")])
    assert scanned(tmp_path) == [b"a", b"a-b", b"c-d", b"c/d"]


def test_kinds(tmp_path: Path) -> None:
    write_things(
        tmp_path, [Thing(b"d"), Thing(b"f", b"x"), Thing(b"l", b"f", link=True), Thing(b"x", b"", executable=True)]
    )
    (tmp_path / "to-directory").symlink_to("d")
    kinds = {found.path: found.kind for found in scan(tmp_path)}
    assert kinds == {
        b"d": Kind.DIRECTORY, b"f": Kind.FILE, b"l": Kind.SYMLINK, b"to-directory": Kind.SYMLINK, b"x": Kind.EXECUTABLE,
    }  # fmt: skip


def test_what_no_tree_can_hold_is_left_out_with_a_warning(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        warned: list[bytes] = []
        assert scanned(tmp_path, warn=lambda path, why: warned.append(path)) == []
    assert sorted(warned) == [b"fifo", b"socket"]


def test_a_directory_of_fifos_is_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d/fifo")
    (tmp_path / "d/empty").mkdir()
    os.mkfifo(tmp_path / "d/empty/fifo")
    skipped = Skipped()
    assert scanned(tmp_path, warn=skipped) == [b"d/empty"]
    assert skipped == {b"d/fifo": "socket, device or FIFO", b"d/empty/fifo": "socket, device or FIFO"}


def test_a_directory_that_holds_only_paths_that_are_too_long_is_not_empty_without_a_word(tmp_path: Path) -> None:
    deep = b"/".join([b"x" * 200] * 20)
    write_things(tmp_path, [Thing(deep)])
    with opened_directory(os.fsencode(tmp_path), deep) as inside:
        os.close(os.open(b"y" * 200, os.O_CREAT, dir_fd=inside))
    skipped = Skipped()
    assert scanned(tmp_path, warn=skipped) == [deep]
    assert skipped == {deep + b"/" + b"y" * 200: "path longer than 4,095 bytes"}


def test_only_its_own_directory_is_left_out_without_a_word(tmp_path: Path) -> None:
    write_things(tmp_path, [Thing(b".mill/state", b""), Thing(b"a/.Mill/state", b""), Thing(b"a/b", b"")])
    skipped = Skipped()
    assert scanned(tmp_path, warn=skipped) == [b"a/b"]
    assert skipped == {b"a/.Mill": "reserved for working copies"}
    (tmp_path / ".millignore").write_text(".mill/\n.Mill/\n")
    skipped = Skipped()
    assert scanned(tmp_path, warn=skipped) == [b".millignore", b"a/b"]
    assert skipped == {}


def test_ignore_files_have_gitignore_syntax(tmp_path: Path) -> None:
    write_things(
        tmp_path,
        [
            Thing(b".millignore", b"*.tmp\n/build/\n!keep.tmp\nlogs/*\n"),
            Thing(b"a.tmp", b""), Thing(b"keep.tmp", b""), Thing(b"build/x", b""), Thing(b"deep/build/x", b""),
            Thing(b"deep/.millignore", b"!b.tmp\nsecret\n"), Thing(b"deep/a.tmp", b""), Thing(b"deep/b.tmp", b""),
            Thing(b"deep/secret", b""), Thing(b"secret", b""), Thing(b"logs/x", b""), Thing(b"\xff.tmp", b""),
        ],
    )  # fmt: skip
    assert scanned(tmp_path) == [
        b".millignore", b"deep/.millignore", b"deep/b.tmp", b"deep/build/x", b"keep.tmp", b"logs", b"secret",
    ]  # fmt: skip
    assert b"a.tmp" in scanned(tmp_path, ignore_files=())


def test_ignored_directories_are_not_even_opened(tmp_path: Path) -> None:
    write_things(tmp_path, [Thing(b".millignore", b"node_modules/\n"), Thing(b"node_modules/x/y", b"")])
    (tmp_path / "node_modules").chmod(0)
    try:
        assert scanned(tmp_path) == [b".millignore"]
    finally:
        (tmp_path / "node_modules").chmod(0o755)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(".")
    assert scanned(tmp_path) == [b"loop"]


def test_names_the_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        scanned(tmp_path / "nowhere")


def test_an_ignore_file_is_read_as_git_does(tmp_path: Path) -> None:
    """Lines end at newlines only, with or without a carriage return; a byte order mark is none of the first rule."""
    rules = b"\xef\xbb\xbf*.tmp\r\nform\x0cfeed\n"
    write_things(tmp_path, [Thing(b".millignore", rules), Thing(b"a.tmp", b""), Thing(b"form\x0cfeed", b"")])
    assert scanned(tmp_path) == [b".millignore"]


def test_an_ignore_file_that_is_a_link_a_fifo_or_a_directory_gives_no_rules(tmp_path: Path) -> None:
    things = [Thing(b"a/x", b""), Thing(b"b/x", b""), Thing(b"c/.millignore/x", b""), Thing(b"rules", b"x\n")]
    write_things(tmp_path, things)
    (tmp_path / "a" / ".millignore").symlink_to("../rules")
    os.mkfifo(tmp_path / "b" / ".millignore")
    assert scanned(tmp_path) == [b"a/.millignore", b"a/x", b"b/x", b"c/.millignore/x", b"rules"]


@pytest.mark.parametrize("length", [150, 190, 230, 245])
def test_a_full_path_just_too_long_for_a_system_call(tmp_path: Path, length: int) -> None:
    """The directory can still be named in one call, or just not, and what lies in it cannot."""
    root = os.fsencode(tmp_path)
    part = b"p" * 200
    path = b"/".join([part] * 19) + b"/" + b"n" * length
    with opened_directory(root, b"") as start:
        here = os.dup(start)
    for _ in range(19):
        os.mkdir(part, dir_fd=here)
        below = os.open(part, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open(b"n" * length, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here))
    os.close(os.open(b".millignore", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here))
    os.close(here)
    assert scanned(tmp_path) == [path.rpartition(b"/")[0] + b"/.millignore", path]


def test_paths_too_long_for_a_system_call(tmp_path: Path) -> None:
    """A tree's own path may be as long as what one call can name, and the directory it lies in has a length too."""
    root = tmp_path / ("r" * 250)
    root.mkdir()
    part = "p" * 200
    with opened_directory(os.fsencode(root), b"") as start:
        here = os.dup(start)
    for _ in range(20):
        os.mkdir(part, dir_fd=here)
        below = os.open(part, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=here))
    os.symlink("target", "link", dir_fd=here)
    os.mkdir("empty", dir_fd=here)
    os.close(here)
    deep = f"{part}/".encode() * 20
    assert [(found.path, found.kind) for found in scan(root)] == [
        (deep + b"empty", Kind.DIRECTORY),
        (deep + b"file", Kind.FILE),
        (deep + b"link", Kind.SYMLINK),
    ]
    link, file = read_whole(os.fsencode(root), deep + b"link"), read_whole(os.fsencode(root), deep + b"file")
    assert link is not None
    assert file is not None
    assert (link.data, file.data) == (b"target", b"")
