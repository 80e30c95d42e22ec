"""Commits go from one server to another, or onto a volume, in a file: whole, once, and only forwards."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.client.exporting import WantedRef, export_commits
from millpond.client.http import Api
from millpond.client.importing import import_export
from millpond.errors import BadName
from millpond.lake.exports.parts import PartWriter
from millpond.lake.exports.reading import ExportFile
from millpond.model.people import Role
from millpond.services.datasets import datasets
from millpond.testing.builders_data import a_commit
from millpond.testing.server import ADMIN, running_server
from millpond.testing.up import environment
from millpond.testing.waiting import wait_until
from millpond.volumes.importing import commits_on, import_onto
from tests.integration.cache_site import CacheSite, is_whole
from tests.integration.cli import Mill, ServerHere, server_here
from tests.integration.data_server import data_server


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerHere, ServerHere]]:
    root = tmp_path_factory.mktemp("export")
    with server_here(root / "here") as here, server_here(root / "there") as there:
        yield here, there


class Sites:
    """Two servers that cannot reach each other; `name` is a dataset of the first one, with the folder `folder`."""

    def __init__(self, servers: tuple[ServerHere, ServerHere], capture: pytest.CaptureFixture[str], root: Path) -> None:
        self.here, self.there = (Mill(server, capture, root) for server in servers)
        self.folder = root / "folder"
        self.folder.mkdir()
        self.file = root / "x.mill"
        self.name = f"d{root.name[-20:].replace('_', '-').lower()}"
        self.here.ok("data", "init", self.name, cwd=self.folder)

    def commit(self, message: str, **files: bytes) -> str:
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        return str(self.here.ok("data", "sync", "-m", message, "--json", cwd=self.folder).json["id"])

    def export(self, *more: str) -> None:
        self.here.ok("data", "export", self.name, str(self.file), "--force", *more)

    def log(self, ref: str = "main") -> list[dict[str, Any]]:
        return list(self.there.ok("data", "log", f"{self.name}@{ref}", "--json").json["items"])


@pytest.fixture
def sites(servers: tuple[ServerHere, ServerHere], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Sites:
    return Sites(servers, capsys, tmp_path)


def test_commits_go_to_another_server_and_only_what_it_lacks(sites: Sites, tmp_path: Path) -> None:
    first = sites.commit("one", large=os.urandom(3_000_000), small=b"small")
    sites.export()
    whole = sites.file.stat().st_size
    done = sites.there.ok("data", "import", str(sites.file), "--json").json
    assert [one["new"] for one in done["commits"]] == [True] and done["sent"] > 3_000_000
    origin = sites.log()[0]["lineage"]["origin"]
    assert (origin["commit"], origin["message"], origin["author"]) == (first, "one", "admin")

    again = sites.there.ok("data", "import", str(sites.file), "--json")
    assert again.json["sent"] == 0 and [one["new"] for one in again.json["commits"]] == [False]
    assert "Nothing new was imported." in again.err

    have = tmp_path / "have.json"
    sites.there.ok("data", "have", sites.name, "--output", str(have))
    sites.commit("two", second=b"two")
    last = sites.commit("three", third=b"three")
    sites.export("--have", str(have))
    assert sites.file.stat().st_size < 20_000 < whole
    done = sites.there.ok("data", "import", str(sites.file), "--json").json
    assert done["sent"] < 20_000
    assert [one["message"] for one in sites.log()] == ["three", "one"]
    assert sites.log()[0]["lineage"]["origin"]["commit"] == last
    sites.there.ok("data", "clone", sites.name, str(tmp_path / "clone"))
    for name in ("large", "small", "second", "third"):
        assert (tmp_path / "clone" / name).read_bytes() == (sites.folder / name).read_bytes()


def test_several_commits_of_one_file_follow_each_other(sites: Sites) -> None:
    first = sites.commit("one", a=b"1")
    sites.commit("two", a=b"2")
    sites.here.ok("data", "export", f"{sites.name}@{first}", f"{sites.name}@main", str(sites.file))
    sites.there.ok("data", "import", str(sites.file))
    assert [one["message"] for one in sites.log()] == ["two", "one"]


def test_a_branch_that_went_another_way_does_not_move(sites: Sites, tmp_path: Path) -> None:
    sites.commit("one", a=b"1")
    sites.export()
    sites.there.ok("data", "import", str(sites.file))
    clone = tmp_path / "clone"
    sites.there.ok("data", "clone", sites.name, str(clone))
    (clone / "own").write_bytes(b"made there")
    sites.there.ok("data", "sync", "-m", "own", cwd=clone)
    sites.commit("two", b=b"2")
    sites.export()
    before = sites.log()
    refused = sites.there("data", "import", str(sites.file))
    assert refused.code and "is not in its history" in refused.err and "--branch imported" in refused.err
    assert sites.log() == before
    sites.there.ok("data", "import", str(sites.file), "--branch", "imported")
    assert [one["message"] for one in sites.log("imported")] == ["two", "one"]
    # Both have grown from what was imported before, so they can be merged.
    sites.there.ok("data", "merge", f"{sites.name}@imported", "--into", "main")
    assert {"a", "b", "own"} <= {
        one["name"] for one in sites.there.ok("data", "ls", sites.name, "--json").json["items"]
    }


def test_another_name_may_be_given(sites: Sites) -> None:
    sites.commit("one", a=b"1")
    sites.export()
    sites.there.ok("data", "import", str(sites.file), "--as", f"{sites.name}-copy")
    assert sites.there.ok("data", "show", f"{sites.name}-copy", "--json").json["files"] == 1
    assert sites.there("data", "show", sites.name).code
    wrong = sites.there("data", "import", str(sites.file), "--as", f"{sites.name}@main")
    assert wrong.code and "--branch" in wrong.err


def test_a_base_that_is_not_there_is_told_before_anything_is_sent(sites: Sites, tmp_path: Path) -> None:
    first = sites.commit("one", a=os.urandom(200_000))
    sites.commit("two", b=b"2")
    lie = tmp_path / "have.json"
    lie.write_text(json.dumps({"schema": "millpond.have/1", "side": "server", "commits": {"any": [first]}}))
    sites.export("--have", str(lie))
    refused = sites.there("data", "import", str(sites.file))
    assert refused.code and f"does not hold {first[:12]}" in refused.err and "without --have" in refused.err
    assert sites.there("data", "show", sites.name).code  # no dataset was made for it


def test_a_damaged_file_changes_nothing(sites: Sites, tmp_path: Path) -> None:
    sites.commit("one", a=b"1")
    sites.export()
    whole = sites.file.read_bytes()
    for name, content, words in (
        ("cut", whole[:-40], "damaged at byte"),
        ("altered", whole[:900] + bytes([whole[900] ^ 1]) + whole[901:], "damaged at byte"),
        ("newer", b"millpond.export/2\n" + whole[18:], "another version"),
        ("other", b"hello", "not an export"),
    ):
        (tmp_path / name).write_bytes(content)
        refused = sites.there("data", "import", str(tmp_path / name))
        assert refused.code and words in refused.err, refused.err
    assert sites.there("data", "show", sites.name).code
    missing = sites.there("data", "import", str(tmp_path / "nothing.mill"))
    assert missing.code and "does not exist" in missing.err


def test_what_people_cannot_commit_to_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with running_server(tmp_path / "server") as server, Api(server.url, server.token_of(ADMIN)) as api:
        datasets.ensure_system_dataset(server.deps, server.project("default"), ".code")
        a_commit(server.deps, {"a": b"1"}, dataset=".code")
        export_commits(api, [WantedRef("default", ".code", "main")], tmp_path / "x.mill")
        with ExportFile(tmp_path / "x.mill") as file:
            with pytest.raises(BadName, match=r"Cannot import into '\.code'"):
                import_export(api, file, "default")
            assert import_export(api, file, "default", dataset="code").is_new


def test_bad_arguments_are_explained(sites: Sites, tmp_path: Path) -> None:
    sites.commit("one", a=b"1")
    for arguments, words in (
        (["export", sites.name], "the file to write"),
        (["export", f"{sites.name}:a", "x.mill"], "includes a path"),
        (["export", sites.name, "x.mill", "--have", "nowhere.json"], "mill data have"),
        (["export", "no-such-dataset", "x.mill"], "no-such-dataset"),
        (["have"], "either datasets or --volume"),
        (["import", "x.mill", "--volume", ".", "--as", "y"], "--as and --branch"),
        (["import", sites.name, "s3://bucket/x", "--as", "y"], "for export files"),
    ):
        refused = sites.here("data", *arguments)
        assert refused.code and words in refused.err, refused.err
    assert not (tmp_path / "x.mill").exists()
    sites.export()
    taken = sites.here("data", "export", sites.name, str(sites.file))
    assert taken.code and "--force" in taken.err


def test_only_members_import_and_viewers_export(tmp_path: Path) -> None:
    with running_server(tmp_path / "server") as server:
        a_commit(server.deps, {"a": b"1"})
        server.user("val", roles={"default": Role.VIEWER})
        with Api(server.url, server.token_of("val")) as viewer:
            export_commits(viewer, [WantedRef("default", "xray", "main")], tmp_path / "x.mill")
        refused = server.client(server.token_of("val")).post("/projects/default/uploads", json={})
        assert refused.status_code == 403


def test_what_an_import_says_of_its_origin_is_checked(tmp_path: Path) -> None:
    with running_server(tmp_path / "server") as server:
        first, second = a_commit(server.deps, {"a": b"1"}), a_commit(server.deps, {"a": b"2"})
        with Api(server.url, server.token_of(ADMIN)) as api:
            export_commits(api, [WantedRef("default", "xray", first.id)], tmp_path / "x.mill")
        with ExportFile(tmp_path / "x.mill") as file:
            document = file.commit_document(file.manifest.commits[0]).decode()
        upload = server.admin.post("/projects/default/uploads", json={}).json()["id"]
        asked = {"upload": upload, "tree": second.tree, "branch": "other"}
        path = "/projects/default/datasets/xray/commits"
        for origin in (document, document.replace("admin", "somebody"), "{}", "no JSON"):
            assert server.admin.post(path, json={**asked, "origin": origin}).status_code == 400
        made = server.admin.post(path, json={**asked, "tree": first.tree, "origin": document})
        assert made.json()["author"] == ADMIN and made.json()["lineage"]["origin"]["commit"] == first.id


def test_a_full_disk_leaves_no_file(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    sites.commit("one", a=b"1")

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(PartWriter, "finish", full)
        refused = sites.here("data", "export", sites.name, str(sites.file))
    assert refused.code and "the disk is full" in refused.err
    assert not list(sites.file.parent.glob("*x.mill*")) and not list(sites.file.parent.glob(".*"))
    sites.export()


_KILLED = """
import os, signal, sys
from millpond.cli.main import main
from millpond.client import importing
from millpond.lake.exports import writing
def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
writing.ExportWriter.finish = dies
importing.create_commit = dies
main(sys.argv[1:])
"""


def killed(mill: Mill, *arguments: str) -> None:
    command = [sys.executable, "-c", _KILLED, "data", *arguments, "--quiet"]
    done = subprocess.run(command, env=environment(mill.server.home), cwd=mill.cwd, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_killed_export_or_import_goes_on(sites: Sites) -> None:
    sites.commit("one", a=os.urandom(2_000_000))
    killed(sites.here, "export", sites.name, str(sites.file))
    assert not sites.file.exists()
    sites.export()
    assert not list(sites.file.parent.glob(".*"))
    killed(sites.there, "import", str(sites.file))
    done = sites.there.ok("data", "import", str(sites.file), "--json").json
    assert done["commits"][0]["new"] and done["sent"] < 100_000
    assert sites.there.ok("data", "show", sites.name, "--json").json["bytes"] == 2_000_000


def test_what_was_imported_onto_a_volume_is_ready_when_its_agent_is_back(tmp_path: Path) -> None:
    files = {f"{n % 3}/{n}": b"%d" % n for n in range(50)}
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        site = CacheSite(tmp_path, server, stack, ["one"])
        commit = a_commit(server.deps, files)
        site.end(site.processes["one"])
        with Api(server.url, server.token_of(ADMIN)) as api:
            export_commits(api, [WantedRef("default", "xray", "main")], tmp_path / "x.mill")
        with ExportFile(tmp_path / "x.mill") as file:
            [imported] = import_onto(site.volume, file)
        assert is_whole(imported.path, files)
        site.start("one")

        def seen() -> list[tuple[str, str]]:
            listed = server.admin.get("/caches").json()["items"]
            return [(item["commit_id"], item["state"]) for item in listed]

        wait_until(lambda: seen() == [(commit.id, "ready")], what="the commit to be ready", within=60)
        assert is_whole(imported.path, files)

        # And while the agent is there: it leaves the work of imports alone.
        second = a_commit(server.deps, {**files, "new": b"new"})
        with Api(server.url, server.token_of(ADMIN)) as api:
            wanted = [WantedRef("default", "xray", "main")]
            export_commits(api, wanted, tmp_path / "y.mill", have=commits_on(site.volume))
        with ExportFile(tmp_path / "y.mill") as file:
            assert file.manifest.commits[0].base == commit.id
            [imported] = import_onto(site.volume, file)
        wait_until(lambda: (second.id, "ready") in seen(), what="the second to be ready", within=60)
        assert is_whole(imported.path, {**files, "new": b"new"})
        assert server.admin.get("/evictions").json()["items"] == []


def test_scripts_export_and_import(tmp_path: Path) -> None:
    with data_server(tmp_path) as data:
        first = a_commit(data.server.deps, {"a": b"1"})
        millpond.have_data("xray", tmp_path / "have.json")
        a_commit(data.server.deps, {"a": b"1", "b": b"2"})
        exported = millpond.export_data("xray@main", tmp_path / "x.mill", have=tmp_path / "have.json")
        assert exported.manifest.commits[0].base == first.id
        again = millpond.import_data(tmp_path / "x.mill")
        assert not again.is_new and again.sent == 0
        millpond.export_data(["xray@main"], tmp_path / "x.mill", force=True)
        copied = millpond.import_data(tmp_path / "x.mill", dataset="copy")
        assert copied.is_new and millpond.Dataset("copy").read("b") == b"2"
