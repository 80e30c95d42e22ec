"""A rebase that is interrupted, overtaken or runs against another: nothing is lost, and doing it again goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.client import rebase as rebase_module
from millpond.client.branches import revert
from millpond.client.checkout import checkout
from millpond.client.clone import clone
from millpond.client.commits import branch_head, create_commit
from millpond.client.edits import put_files
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.client.working_tree import look
from millpond.errors import Conflict
from millpond.lake import update
from millpond.model.tree import TreeChange
from tests.integration.data_server import DataServer, data_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataServer]:
    with data_server(tmp_path_factory.mktemp("rebase")) as running:
        yield running


def two_copies(server: DataServer, root: Path, name: str) -> tuple[WorkingCopy, WorkingCopy]:
    first = root / "first"
    (first / "sub").mkdir(parents=True)
    for number in range(10):
        (first / f"sub/{number}").write_text(str(number))
    server.commit(first, name)
    mine = clone(server.api, "default", name, "main", root / "mine").copy
    theirs = clone(server.api, "default", name, "main", root / "theirs").copy
    for number in range(4):
        (theirs.root / f"sub/{number}").write_text("theirs")
        (theirs.root / f"new-{number}").write_text("theirs")
    (theirs.root / "sub/4").unlink()
    sync(server.api, theirs)
    (mine.root / "sub/9").write_text("mine")
    (mine.root / "mine").write_text("mine")
    (mine.root / "sub/8").unlink()
    return mine, theirs


def again(copy: WorkingCopy) -> WorkingCopy:
    return require_working_copy(copy.root)


def agrees(server: DataServer, copy: WorkingCopy) -> bool:
    head = branch_head(server.api, copy.project, copy.dataset, copy.branch)
    return head is not None and (head.id, head.tree) == (again(copy).head, look(copy).root)


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("at", [0, 3, 8])
def test_killed_while_files_are_put_in_place(
    server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    mine, _ = two_copies(server, tmp_path, f"killed-{at}")
    put, steps = update._put, iter(range(100))

    def dying(folder: update._Folder, arrived: update._Folder, changes: list[TreeChange]) -> None:
        for change in changes:
            if next(steps) == at:
                raise Killed
            put(folder, arrived, [change])

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(update, "_put", dying)
        sync(server.api, mine, onto_newest=True)
    committed = branch_head(server.api, "default", mine.dataset, "main")
    done = sync(server.api, again(mine), onto_newest=True)
    assert not done.changed, "what was committed before is not committed again"
    assert committed is not None and done.commit.id == committed.id
    assert agrees(server, mine)
    assert (mine.root / "mine").read_text() == "mine"
    assert (mine.root / "sub/0").read_text() == "theirs"
    assert not (mine.root / "sub/8").exists()


def test_somebody_who_is_quicker_is_taken_in_too(
    server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two_copies(server, tmp_path, "quicker")
    overtaken = iter([True, True, False])

    def overtaking(*arguments: object) -> object:
        if next(overtaken):
            path = theirs.root / "again"
            path.write_text(path.read_text() + "+" if path.exists() else "+")
            sync(server.api, again(theirs))
        return create_commit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rebase_module, "create_commit", overtaking)
    done = sync(server.api, mine, onto_newest=True)
    assert done.changed
    assert (mine.root / "again").read_text() == "++"
    assert agrees(server, mine)


@pytest.mark.long
def test_many_rebase_at_once(server: DataServer, tmp_path: Path) -> None:
    first, _ = two_copies(server, tmp_path, "crowd")
    copies = [clone(server.api, "default", "crowd", "main", tmp_path / f"copy-{n}").copy for n in range(3)]
    for number, copy in enumerate(copies):
        (copy.root / f"of-{number}").write_text("mine")
    threads = [threading.Thread(target=sync, args=(server.api, copy), kwargs={"onto_newest": True}) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sync(server.api, first, onto_newest=True)
    assert {f"of-{number}" for number in range(3)} <= {path.name for path in first.root.iterdir()}
    assert agrees(server, first)


def test_many_change_one_branch_at_once_and_all_come_through(server: DataServer, tmp_path: Path) -> None:
    """Files put, a folder synced, a commit undone: whoever is overtaken goes on top of what came first."""
    mine, theirs = two_copies(server, tmp_path, "put-at-once")
    name, file = mine.dataset, tmp_path / "first/sub/0"
    undone = again(theirs).head
    assert undone is not None
    with ThreadPoolExecutor(12) as crowd:
        done = [crowd.submit(put_files, server.api, "default", name, {f"put/{n}": file}) for n in range(10)]
        rebased = crowd.submit(sync, server.api, mine, onto_newest=True)
        reverted = crowd.submit(revert, server.api, "default", name, undone)
        assert len({one.result().id for one in done} | {rebased.result().commit.id, reverted.result().id}) == 12
    sync(server.api, again(mine), onto_newest=True)
    assert agrees(server, mine)
    assert len(list((mine.root / "put").iterdir())) == 10
    assert (mine.root / "sub/0").read_text() == "0", "as it was before what is undone"
    assert (mine.root / "mine").read_text() == "mine"


def half_moved(copy: WorkingCopy, ref: str, server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that ends, like its process, when it has removed files and not yet put others in their place."""

    def dying(*arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(update, "_put", dying)
        checkout(server.api, copy, ref)


def test_what_a_cut_off_checkout_left_is_not_taken_for_changes(
    server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = two_copies(server, tmp_path, "half-way")
    first, second = mine.head, again(theirs).head
    assert first is not None and second is not None
    copy = clone(server.api, "default", "half-way", "main", tmp_path / "copy").copy
    (copy.root / "own").write_text("not committed")
    half_moved(copy, first, server, monkeypatch)
    assert not (copy.root / "new-0").exists()
    with pytest.raises(Conflict, match="was interrupted"):
        sync(server.api, again(copy))
    checkout(server.api, again(copy), "main")
    assert (copy.root / "new-0").read_text() == "theirs", "it was not the user who removed it"
    assert (copy.root / "own").read_text() == "not committed"
    half_moved(again(copy), first, server, monkeypatch)
    done = sync(server.api, again(copy), onto_newest=True)
    assert done.commit.parents == [second]
    assert agrees(server, copy)
    assert {path.name for path in copy.root.iterdir()} >= {"own", "new-0"}
