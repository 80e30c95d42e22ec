"""Bad input on a real server: every mistake is answered with what is wrong, and nothing is lost by it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

BAD_NAMES = ["two words", "a/b", "ünïcode", "..", ".", "-dash", "UPPER", "x#2", "x@main", "x:y", "a" * 64, "nul\0byte"]
# What is asked for, and the name near it that is there.
NOT_THERE = {
    "data show xrya": "xray",
    "data commits xray@mian": "main",
    "data cat xray:b.txt": None,
    "cache add xrya": "xray",
    "cache add xray@mian": "main",
    "cache add xray --on locl": "local",
    "volume show locl": "local",
    "submit --no-code --data xrya -- true": "xray",
    "submit --no-code --data xray@mian -- true": "main",
    "list -p defualt": "default",
    "project show defualt": "default",
    "data show nothing-like-it": None,
    "get nobody-knows": None,
    "user delete nobody-knows --yes": None,
}
PASSWORD = "correct horse battery"
# Talks, and writes its result once $0 exists.
WAIT_AND_WRITE = 'while [ ! -e "$0" ]; do echo waiting; sleep 0.1; done; echo done > "$MILL_OUTPUT/o"'


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillUp]:
    with mill_up(tmp_path_factory.mktemp("bad-input") / "data") as running:
        yield running


@pytest.fixture
def mill(up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(up, capfd, tmp_path)


@pytest.fixture
def client(up: MillUp) -> Iterator[httpx.Client]:
    with up.client() as found:
        yield found


@pytest.fixture
def xray(mill: Mill, tmp_path: Path) -> Iterator[Path]:
    """A dataset with one commit; deleted afterwards."""
    folder = tmp_path / "xray"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    mill.ok("data", "init", cwd=folder)
    mill.ok("data", "sync", cwd=folder)
    yield folder
    wait_until(lambda: mill("data", "delete", "xray", "--yes").code in (0, 3), what="nobody to use it any more")


def test_what_is_not_there(mill: Mill, xray: Path) -> None:
    for arguments, near in NOT_THERE.items():
        done = mill(*arguments.split())
        assert done.code == 3, (arguments, done.err)
        asks = (f"Did you mean '{near}'?" in done.err) if near else ("Did you mean" not in done.err)
        assert asks, (arguments, done.err)


def test_an_unknown_job_is_answered_with_the_nearest(mill: Mill) -> None:
    mill.ok("submit", "training", "--no-code", "--wait", "--", "true")
    for verb in (["get"], ["logs"], ["stop"], ["why"], ["delete", "--yes"]):
        done = mill(*verb, "trainign")
        assert (done.code, "Did you mean 'training'?" in done.err) == (3, True), done.err


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_cannot_be(client: httpx.Client, tmp_path: Path, name: str) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/projects", {"name": name}),
        ("/users", {"name": name, "password": PASSWORD}),
        ("/projects/default/datasets", {"name": name}),
        ("/projects/default/jobs", {"name": name, "command": ["true"]}),
        ("/volumes", {"name": name, "path": str(tmp_path)}),
        ("/sites", {"name": name}),
    ]
    for path, body in asked:
        answer = client.post(path, json=body)
        # No text of a request may hold what no database stores: that is found before anybody asks what it is for.
        expected = (422, "invalid") if "\0" in name else (400, "bad_name")
        assert (answer.status_code, answer.json()["code"]) == expected, (path, answer.text)
        assert answer.json()["hint"] or "NUL" in answer.json()["detail"]


def test_paths_outside_the_tree(mill: Mill, client: httpx.Client, xray: Path) -> None:
    base = "/projects/default/datasets/xray/commits/main"
    for path in ("../a.txt", "/../a.txt", "a/../../b", "./a.txt", "a//b", ".mill/config.json"):
        for what in ("file", "entries"):
            answer = client.get(f"{base}/{what}", params={"path": path})
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_path"), (path, answer.text)
        assert mill("data", "cat", f"xray:{path.lstrip('/')}").code == 2, path


def test_names_one_may_not_see_are_not_proposed(mill: Mill, client: httpx.Client, xray: Path, up: MillUp) -> None:
    client.post("/users", json={"name": "stranger", "password": PASSWORD})
    with httpx.Client(base_url=f"{up.url}/api/v1", trust_env=False) as stranger:
        stranger.post("/session", json={"name": "stranger", "password": PASSWORD}).raise_for_status()
        asked = (
            "/projects/defualt",
            "/projects/default/datasets/xrya",
            "/projects/default/datasets/xray",
            "/datasets?project=defualt",
        )
        for path in asked:
            answer = stranger.get(path)
            assert answer.status_code == 404
            assert not {"xray", "default"} & set((answer.json()["hint"] or "").replace("/", " ").split())
            assert not answer.json()["details"].get("near")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/projects", {}),
        ("/users", {"password": PASSWORD}),
        ("/sites", {}),
        ("/volumes", {"path": "/somewhere/{number}"}),
        ("/projects/default/datasets", {}),
        ("/projects/default/jobs", {"command": ["sleep", "60"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_many_who_create_the_same_name_one_does(up: MillUp, path: str, body: dict[str, Any]) -> None:
    name = f"race-{path.rpartition('/')[2]}"

    def create(number: int) -> httpx.Response:
        with up.client() as one:
            own = {key: value.format(number=number) if isinstance(value, str) else value for key, value in body.items()}
            return one.post(path, json={"name": name, **own})

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(create, range(6)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"name_taken"}
    with up.client() as one:
        one.delete(f"{path}/{name}")


def test_what_others_depend_on_is_named_before_it_goes(mill: Mill, xray: Path) -> None:
    mill.ok("user", "create", "owner")
    mill.ok("project", "create", "owned")
    mill.ok("project", "add-member", "owned", "owner", "--role", "admin")
    mill.ok("project", "remove-member", "owned", "admin")
    mill.ok("submit", "reader", "--no-code", "--data", "xray", "--", "sleep", "60")
    wait_until(lambda: mill.ok("get", "reader", "--json").json["state"] == "running", what="the job to run")
    asked = {
        ("data", "delete", "xray"): "reader",
        ("volume", "rm", "local"): "default/xray",
        ("volume", "rm", "local", "--force"): "reader",
        ("cache", "clear", "xray"): "reader",
        ("project", "delete", "default"): "dataset xray",
        ("user", "delete", "owner"): "owned",
    }
    for arguments, named in asked.items():
        done = mill(*arguments, "--yes")
        assert (done.code, named in done.err) == (5, True), (arguments, done.err)
    mill.ok("stop", "reader")
    mill("wait", "reader")


@pytest.mark.long
def test_volumes_that_vanish_or_are_others(mill: Mill, xray: Path, tmp_path: Path) -> None:
    """What an agent sees of a volume's directory in every case, and that it is well again by itself: see its tests."""
    gone, swapped, other = (tmp_path / name for name in ("gone", "swapped", "other"))
    for path in (gone, swapped, other):
        path.mkdir()
        mill.ok("volume", "add", path.name, str(path), "--capacity", "1GB")
    for path in (gone, swapped, other):
        wait_until(lambda path=path: mill("cache", "add", "xray", "--on", path.name).code == 0, what="a look at it")
    mill.ok("volume", "rm", "other", "--force", "--yes")
    mill.ok("volume", "add", "other", str(other))
    wait_until(lambda: mill.ok("volume", "show", "other", "--json").json["connected"], what="a look at it")

    gone.rename(tmp_path / "away")
    shutil.rmtree(swapped)
    shutil.copytree(other, swapped)
    for name, words in (("gone", "does not exist"), ("swapped", "is another volume")):
        wait_until(lambda name=name, words=words: words in problem(mill, name), within=60, what=words)
        refused = mill("cache", "add", "xray", "--on", name)
        assert (refused.code, words in refused.err) == (5, True), refused.err
    assert "2 of 4 have a problem" in mill("doctor").out
    assert not any(swapped.rglob("*.txt")), "nothing was written there"


def problem(mill: Mill, volume: str) -> str:
    return mill.ok("volume", "show", volume, "--json").json["problem"] or ""


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Callable[[str], None]]:
    """A file system of its own; call it to change its size. Skips where this user may not mount."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting needs privileges")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", str(path)], check=True) and None
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill_up(path: Path) -> None:
    """Leave not a single free block, as a neighbour's download would."""
    for block in (1 << 20, 1 << 12):
        with suppress(OSError), (path / f"filler-{block}").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(block))


def test_a_full_disk_is_said_and_loses_nothing(
    tmp_path: Path, open_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    disk, folder = tmp_path / "disk", tmp_path / "xray"
    folder.mkdir()
    (folder / "small.bin").write_bytes(os.urandom(1_000_000))
    with small_disk(disk, "24m") as resize, mill_up(disk / "data", home=tmp_path / "home") as up:
        mill = Mill(up, capfd, tmp_path)
        mill.ok("data", "init", cwd=folder)
        mill.ok("data", "sync", cwd=folder)
        mill.ok("submit", "before", "--no-code", "--", "sh", "-c", WAIT_AND_WRITE, str(open_path / "go"))
        wait_until(lambda: mill.ok("get", "before", "--json").json["state"] == "running", what="the job to run")

        (folder / "large.bin").write_bytes(os.urandom(30_000_000))
        sync = mill("data", "sync", cwd=folder)
        assert (sync.code, "has no space left" in sync.err) == (1, True), sync.err
        fill_up(disk)
        change = mill("project", "create", "after")
        assert (change.code, "disk of the server is full" in change.err) == (1, True), change.err
        wrong = mill("doctor").out
        assert "wrong\tdisk" in wrong and "wrong\tlake" in wrong
        assert mill.ok("data", "cat", "xray:small.bin", "--json").code == 0, "reading goes on"
        assert "before" in mill.ok("list").out
        assert mill("project", "show", "after").code == 3, "what was refused was not half done"

        resize("120m")
        mill.ok("project", "create", "after")
        (open_path / "go").touch()
        mill.ok("data", "sync", cwd=folder)
        mill.ok("data", "clone", "xray", "copy")
        assert (tmp_path / "copy/large.bin").read_bytes() == (folder / "large.bin").read_bytes()
        wait_until(lambda: mill.ok("get", "before", "--json").json["ended_at"], within=60, what="the job's end")
        assert mill.ok("get", "before", "--json").json["state"] == "succeeded"
        mill.ok("submit", "later", "--no-code", "--wait", "--", "true")
        assert up.stop() == 0
