"""`mill data` where several folders, commits and people meet: rebase, checkout, partial clones, verify."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.errors import StoreUnavailable
from millpond.lake.fetch import fetch_tree
from tests.integration.cli import Mill, ServerHere, server_here
from tests.integration.test_cli_data import a_folder, content


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("cli-together")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def synced(mill: Mill, folder: Path) -> str:
    mill.ok("data", "init", cwd=folder)
    return sync(mill, folder)


def sync(mill: Mill, folder: Path, *more: str) -> str:
    return str(mill.ok("data", "sync", "--json", *more, cwd=folder).json["id"])


def two_folders(mill: Mill, root: Path, name: str) -> tuple[Path, Path]:
    mine = a_folder(root / name)
    synced(mill, mine)
    mill.ok("data", "clone", name, "theirs")
    return mine, root / "theirs"


def test_two_people_change_different_paths_and_rebase(mill: Mill, tmp_path: Path) -> None:
    mine, theirs = two_folders(mill, tmp_path, "both")
    (theirs / "class-0/0.txt").write_text("theirs")
    (theirs / "class-1/1.txt").unlink()
    (theirs / "new/theirs.txt").parent.mkdir()
    (theirs / "new/theirs.txt").write_text("theirs")
    their_commit = sync(mill, theirs)
    (mine / "class-2/2.txt").write_text("mine")
    (mine / "new").mkdir()
    (mine / "new/mine.txt").write_text("mine")
    refused = mill("data", "sync", cwd=mine)
    assert refused.code == 5
    assert "admin committed" in refused.err
    assert "--rebase" in refused.err
    done = mill.ok("data", "sync", "--rebase", "-m", "both", "--json", cwd=mine)
    assert done.json["parents"] == [their_commit]
    assert "Applied 3 changes" in done.err
    assert (mine / "class-0/0.txt").read_text() == "theirs"
    assert not (mine / "class-1/1.txt").exists()
    assert (mine / "new/theirs.txt").exists()
    mill.ok("data", "clone", "both", "fresh")
    assert content(tmp_path / "fresh") == content(mine)
    assert "No changes" in mill.ok("data", "sync", cwd=mine).err
    caught_up = mill.ok("data", "sync", "--rebase", cwd=theirs)
    assert "No changes of yours to commit" in caught_up.err
    assert content(theirs) == content(mine)
    assert not list((mine / ".mill").glob("incoming-*"))


def test_conflicts_are_named_and_change_nothing(mill: Mill, tmp_path: Path) -> None:
    mine, theirs = two_folders(mill, tmp_path, "conflicts")
    (theirs / "class-0/0.txt").write_text("theirs")
    (theirs / "class-1/1.txt").unlink()
    (theirs / "other.txt").write_text("theirs")
    head = sync(mill, theirs)
    (mine / "class-0/0.txt").write_text("mine, longer")
    (mine / "class-1/1.txt").write_text("mine, longer")
    before = content(mine)
    done = mill("data", "sync", "--rebase", cwd=mine)
    assert done.code == 5
    assert "'class-0/0.txt': you changed it, they changed it" in done.err
    assert "'class-1/1.txt': you changed it, they removed it" in done.err
    assert "(mill data cat conflicts@main:PATH > PATH; remove here what they removed)" in done.err
    as_json = json.loads(mill("data", "sync", "--rebase", "--json", cwd=mine).err)["error"]
    assert as_json["code"] == "merge_conflict"
    assert as_json["details"]["paths"] == ["class-0/0.txt", "class-1/1.txt"]
    assert content(mine) == before
    assert mill.ok("data", "commits", "conflicts", "--json").json["items"][0]["id"] == head
    # Theirs is taken for one path, the other is given up: nothing stands in the way any more.
    (mine / "class-0/0.txt").write_text("theirs")
    (mine / "class-1/1.txt").unlink()
    mill.ok("data", "sync", "--rebase", cwd=mine)
    assert content(mine) == content(theirs)


def test_an_ignored_file_in_the_way_stops_a_rebase_before_it_commits(mill: Mill, tmp_path: Path) -> None:
    mine, theirs = two_folders(mill, tmp_path, "ignored")
    (theirs / "notes.log").write_text("theirs")
    head = sync(mill, theirs)
    (mine / ".millignore").write_text("*.log\n")
    (mine / "notes.log").write_text("mine")
    done = mill("data", "sync", "--rebase", cwd=mine)
    assert done.code == 5
    assert "'notes.log'" in done.err
    assert (mine / "notes.log").read_text() == "mine"
    assert mill.ok("data", "commits", "ignored", "--json").json["items"][0]["id"] == head


def test_an_ignored_file_in_place_of_a_directory_is_found_before_a_rebase_commits(mill: Mill, tmp_path: Path) -> None:
    mine, theirs = two_folders(mill, tmp_path, "instead")
    (theirs / "new").mkdir()
    (theirs / "new/file").write_text("theirs")
    shutil.rmtree(theirs / "class-0")
    (theirs / "class-0").write_text("a file for them")
    head = sync(mill, theirs)
    (mine / ".millignore").write_text("new\nkept\n")
    (mine / "new").write_text("a file here")
    (mine / "class-0/kept").write_text("ignored, below a directory that is a file for them")
    refused = mill("data", "sync", "--rebase", "--json", cwd=mine)
    assert refused.code == 5
    assert json.loads(refused.err)["error"]["details"]["paths"] == ["class-0/kept", "new"]
    assert mill.ok("data", "show", "instead", "--json").json["head"] == head, "nothing was committed"
    (mine / "new").unlink()
    (mine / "class-0/kept").unlink()
    mill.ok("data", "sync", "--rebase", cwd=mine)
    assert (mine / "class-0").read_text() == "a file for them"


def test_checkout_moves_between_commits_in_place(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "moving")
    first, one = synced(mill, folder), content(folder)
    (folder / "class-0/0.txt").write_text("second")
    (folder / "class-1/1.txt").unlink()
    (folder / "class-2").rename(folder / "class-9")
    (folder / "big").write_bytes(random.Random(5).randbytes(3_000_000))
    second, two = sync(mill, folder), content(folder)
    untouched = (folder / "class-1/4.txt").stat()
    done = mill.ok("data", "checkout", first[:12], cwd=folder)
    assert "is not a branch" in done.err
    assert content(folder) == one
    assert not (folder / "class-9").exists()
    assert (folder / "class-1/4.txt").stat() == untouched, "what does not differ is not touched"
    (folder / "class-1/4.txt").write_text("local")
    mill.ok("data", "checkout", "main", cwd=folder)
    assert content(folder) == {**two, "class-1/4.txt": b"local"}, "a change of what does not differ is kept"
    assert mill.ok("data", "status", "--json", cwd=folder).json["before"] == second


def test_checkout_loses_nothing_unless_told(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "careful", 6)
    first, one = synced(mill, folder), content(folder)
    (folder / "class-0/0.txt").write_text("second")
    (folder / "added.txt").write_text("second")
    sync(mill, folder)
    (folder / "class-0/0.txt").write_text("local")
    (folder / "added.txt").write_text("local, longer")
    (folder / "mine.txt").write_text("mine")
    before = content(folder)
    done = mill("data", "checkout", first, cwd=folder)
    assert done.code == 5
    assert "'class-0/0.txt' (changed)" in done.err
    assert "'added.txt' (changed)" in done.err
    assert "mine.txt" not in done.err
    assert content(folder) == before
    mill.ok("data", "checkout", first, "--force", cwd=folder)
    assert content(folder) == one
    assert mill("data", "checkout", "nowhere", cwd=folder).code == 3


def test_a_new_branch_goes_on_from_the_commit_of_the_folder(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "branched", 3)
    first, one = synced(mill, folder), content(folder)
    (folder / "new.txt").write_text("on the branch")
    done = mill.ok("data", "sync", "--branch", "try", "--json", cwd=folder)
    assert done.json["parents"] == [first]
    mill.ok("data", "checkout", "main", cwd=folder)
    assert content(folder) == one
    mill.ok("data", "checkout", "try", cwd=folder)
    assert (folder / "new.txt").exists()
    assert json.loads((folder / ".mill/config.json").read_text())["branch"] == "try"


def test_a_part_is_cloned_changed_and_synced_without_the_rest(mill: Mill, tmp_path: Path) -> None:
    whole = a_folder(tmp_path / "parts")
    (whole / "class-0/picture.png").write_bytes(b"png")
    first = synced(mill, whole)
    done = mill.ok("data", "clone", "parts", "some", "--only", "class-1/", "--only", "*.png")
    part = tmp_path / "some"
    assert "of 21 files" in done.err
    assert set(content(part)) == {"class-0/picture.png", *(f"class-1/{n}.txt" for n in range(1, 20, 3))}
    assert "0 added, 0 removed, 0 changed" in mill.ok("data", "status", cwd=part).err
    assert sync(mill, part) == first, "nothing has changed"
    assert (
        "warning: No files in parts@main match *.jpg"
        in mill.ok("data", "clone", "parts", "none", "--only", "*.jpg").err
    )
    (part / "class-1/1.txt").write_text("changed in the part")
    (part / "class-0/picture.png").unlink()
    (part / "class-1/new.txt").write_text("new")
    status = mill.ok("data", "status", "--json", cwd=part).json["items"]
    assert {(c["change"], c["path"]) for c in status} == {
        ("changed", "class-1/1.txt"),
        ("removed", "class-0/picture.png"),
        ("added", "class-1/new.txt"),
    }
    sync(mill, part)
    mill.ok("data", "clone", "parts", "all")
    expected = content(whole) | {"class-1/1.txt": b"changed in the part", "class-1/new.txt": b"new"}
    del expected["class-0/picture.png"]
    assert content(tmp_path / "all") == expected
    # A part follows the branch, and never gets what was not chosen.
    (tmp_path / "all/class-2/2.txt").write_text("not chosen")
    (tmp_path / "all/class-1/4.txt").write_text("chosen")
    sync(mill, tmp_path / "all")
    assert mill("data", "sync", cwd=part).code == 5
    mill.ok("data", "sync", "--rebase", cwd=part)
    assert (part / "class-1/4.txt").read_text() == "chosen"
    assert not (part / "class-2").exists()
    mill.ok("data", "checkout", first, cwd=part)
    assert set(content(part)) == {"class-0/picture.png", *(f"class-1/{n}.txt" for n in range(1, 20, 3))}
    mill.ok("data", "verify", str(part), "--full")


def test_ranges_of_a_file(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "ranged"
    folder.mkdir()
    (folder / "f").write_text("0123456789")
    synced(mill, folder)
    for part, expected in (("2-4", "234"), ("7-", "789"), ("-2", "89"), ("0-0", "0"), ("5-100", "56789")):
        assert mill.ok("data", "cat", "ranged:f", "--range", part).out == expected
    assert mill("data", "cat", "ranged:f", "--range", "4").code == 2
    assert mill("data", "cat", "ranged:f", "--range", "x-y").code == 2
    beyond = mill("data", "cat", "ranged:f", "--range", "10-")
    assert beyond.code == 2
    assert "outside the 10 bytes" in beyond.err


def test_verify_finds_what_is_wrong_with_a_folder(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "checked")
    (folder / ".millignore").write_text("*.tmp\n")
    synced(mill, folder)
    (folder / "x.tmp").write_text("ignored")
    assert "No problems" in mill.ok("data", "verify", ".", "--full", cwd=folder).err
    victim = folder / "class-0/3.txt"
    victim.write_text("FILE 3")
    (folder / "class-0/6.txt").unlink()
    (folder / "more.txt").write_text("more")
    quick = mill("data", "verify", ".", "--json", cwd=folder)
    assert quick.code == 1
    found = {path: problem["what"] for problem in quick.json["problems"] for path in problem["paths"]}
    assert found == {"class-0/6.txt": "is missing", "more.txt": "is not in the commit"}
    full = mill("data", "verify", "checked", "--full", cwd=tmp_path)
    assert full.code == 1
    assert "class-0/3.txt\tdiffers from the commit" in full.out
    sampled = mill("data", "verify", ".", "--sample", "1000", cwd=folder)
    assert "class-0/3.txt" in sampled.out
    assert mill("data", "verify", ".", "--sample", "3", "--full", cwd=folder).code == 2
    assert mill("data", "verify", "/nowhere/").code == 3


def test_verify_finds_damage_in_the_lake(mill: Mill, server: ServerHere, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "stored")
    (folder / "big.bin").write_bytes(random.Random(6).randbytes(4_000_000))
    before = set(_packs(server))
    synced(mill, folder)
    for options in ((), ("--sample", "5"), ("--full",)):
        assert "No problems" in mill.ok("data", "verify", "stored", *options, cwd=tmp_path.parent).err
    (pack,) = set(_packs(server)) - before
    whole = pack.read_bytes()
    pack.chmod(0o644)
    at = whole.index((folder / "big.bin").read_bytes()[2_000_000:2_000_100])
    pack.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert mill("data", "verify", "stored", cwd=tmp_path.parent).code == 0, "no byte of a blob is read"
    full = mill("data", "verify", "stored", "--full", "--json", cwd=tmp_path.parent)
    assert full.code == 1
    assert [problem["paths"] for problem in full.json["problems"]] == [["big.bin"]]
    assert mill("data", "verify", "stored", "--sample", "100", cwd=tmp_path.parent).code == 1
    pack.write_bytes(whole[:1000])
    short = mill("data", "verify", "stored", cwd=tmp_path.parent)
    assert short.code == 1
    pack.write_bytes(whole + b"xy")
    longer = mill("data", "verify", "stored", cwd=tmp_path.parent)
    assert (longer.code, "longer in the lake" in longer.out + longer.err) == (1, True)
    pack.unlink()
    assert mill("data", "verify", "stored", cwd=tmp_path.parent).code == 1
    pack.write_bytes(whole)
    mill.ok("data", "verify", "stored", "--full", cwd=tmp_path.parent)


@pytest.mark.parametrize(
    ("kind", "at", "said", "can_clone"),
    [
        ("packs", -2, "does not end with an index", True),
        ("packs", -60, "index of pack", True),
        ("commits", 60, "document of commit", True),
        ("locators", 40, "locator of page", False),
        ("pages", 30, "Page", False),
        ("packs", None, "in the lake", False),
        ("commits", None, "document of commit", True),
    ],
)
def test_verify_finds_damage_of_every_kind_of_object(
    mill: Mill, server: ServerHere, tmp_path: Path, kind: str, at: int | None, said: str, can_clone: bool
) -> None:
    """One flipped byte, or the object is gone: also where only a reindex would notice."""
    name = f"{kind}{at}".replace("-", "m").lower()
    folder = tmp_path / name
    folder.mkdir()
    (folder / "file").write_text(f"what {name} holds\n" * 20)
    before = set(_objects(server, kind))
    synced(mill, folder)
    (victim,) = set(_objects(server, kind)) - before
    whole = victim.read_bytes()
    victim.unlink()
    if at is not None:
        victim.write_bytes(bytes(byte ^ (n == at % len(whole)) for n, byte in enumerate(whole)))
    for depth in ((), ("--full",)):
        found = mill("data", "verify", name, "--json", *depth, cwd=tmp_path.parent)
        assert found.code == 1
        assert any(said in problem["what"] for problem in found.json["problems"]), found.out
    cloned = mill("data", "clone", name, "copy", "--json")
    assert cloned.code == (0 if can_clone else 1), cloned.err
    if not can_clone:
        assert json.loads(cloned.err)["error"]["code"] == "corrupt"
        assert json.loads(cloned.err)["error"]["hint"]
    victim.write_bytes(whole)
    mill.ok("data", "verify", name, "--full", cwd=tmp_path.parent)


def test_a_clone_that_cannot_be_put_there_says_so(mill: Mill, tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "placed")
    synced(mill, folder)
    (tmp_path / "dangling").symlink_to("nowhere/at/all")
    (tmp_path / "file").write_text("file")
    for place, code in (("dangling", 5), ("file", 5), ("/proc/millpond", 2), ("file/below", 2)):
        refused = mill("data", "clone", "placed", place)
        assert refused.code == code, refused.err
        assert "hint: Choose another folder" in refused.err
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    mill.ok("data", "clone", "placed", "link")
    assert content(tmp_path / "empty") == content(folder)
    mill.ok("data", "status", cwd=tmp_path / "link")


def test_a_clone_that_was_cut_off_goes_on(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_folder(tmp_path / "resumed")
    (folder / "large.bin").write_bytes(random.Random(7).randbytes(3_000_000))
    (folder / "half.bin").write_bytes(random.Random(8).randbytes(9_000_000))
    (folder / "link").symlink_to("large.bin")
    synced(mill, folder)

    def cut_off(*arguments: object, **options: object) -> None:
        fetch_tree(*arguments, **options)  # type: ignore[arg-type]
        raise StoreUnavailable("The lake is away.")

    with monkeypatch.context() as patched:
        patched.setattr("millpond.client.clone.fetch_tree", cut_off)
        assert mill("data", "clone", "resumed", "copy").code == 6
    (left,) = tmp_path.glob(".copy.*.part")
    (left / "class-0/3.txt").write_text("FILE 3")
    (left / "class-0/6.txt").unlink()
    (left / "class-1/1.txt").chmod(0o755)
    kept = (left / "large.bin").stat().st_ino
    (left / "half.bin").write_bytes((left / "half.bin").read_bytes()[:5_000_000] + b"not yet written")
    os.truncate(left / "half.bin", 9_000_000)
    begun = (left / "half.bin").stat().st_ino
    (left / "class-2/5.txt").unlink()
    (left / "class-2/5.txt").symlink_to(tmp_path / "outside")
    mill.ok("data", "clone", "resumed", "copy")
    assert (tmp_path / "copy/half.bin").stat().st_ino == begun, "its first part was not fetched again"
    assert content(tmp_path / "copy") == content(folder)
    assert (tmp_path / "copy/large.bin").stat().st_ino == kept, "it was not fetched again"
    assert not (tmp_path / "copy/class-1/1.txt").stat().st_mode & 0o100
    assert (tmp_path / "copy/link").is_symlink()
    assert not list(tmp_path.glob(".copy.*"))
    assert mill.ok("data", "status", "--json", cwd=tmp_path / "copy").json["items"] == []


def test_holes_come_back_as_holes(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "sparse"
    folder.mkdir()
    with (folder / "disk.img").open("wb") as file:
        file.write(b"begin")
        file.seek(40_000_000)
        file.write(b"end")
    synced(mill, folder)
    mill.ok("data", "clone", "sparse", "copy")
    assert (tmp_path / "copy/disk.img").read_bytes() == (folder / "disk.img").read_bytes()
    assert (tmp_path / "copy/disk.img").stat().st_blocks * 512 < 20_000_000


def _packs(server: ServerHere) -> Iterator[Path]:
    return _objects(server, "packs")


def _objects(server: ServerHere, kind: str) -> Iterator[Path]:
    return (path for path in (server.data_dir / "lake").rglob(f"{kind}/*/*") if path.is_file())
