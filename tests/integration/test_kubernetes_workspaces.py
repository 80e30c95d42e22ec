"""Workspaces that are claims of a real cluster: made, filled, used by jobs, frozen, restored, cloned and removed."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from millpond.testing.kube import Kube
from millpond.testing.storage import CLASS, storage_with_snapshots
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.kube_workspaces import MILLPOND, WITHIN, ClaimSite, ending

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def image(kube: Kube) -> str:
    kube.make_millpond_image(MILLPOND)
    return MILLPOND


@pytest.fixture
def site(tmp_path: Path, kube: Kube, image: str, capsys: pytest.CaptureFixture[str]) -> Iterator[ClaimSite]:
    with mill_up(tmp_path / "data") as server:
        port = urlsplit(server.url).port
        assert port
        mill = Mill(server, capsys, tmp_path)
        with kube.exposing(port) as address:
            found = ClaimSite(tmp_path, server, kube, mill, f"http://{address}", f"ws-{secrets.token_hex(3)}")
            with ending(found):
                found.begin()
                yield found


def test_a_claim_from_a_dataset_to_its_removal(site: ClaimSite) -> None:
    told = site.classes()["standard"]
    assert (told["is_default"], told["clones"], told["snapshot_class"]) == (True, False, "")
    assert told["snapshot_problem"] == "the cluster has no VolumeSnapshots"
    data = site.root / "digits"
    data.mkdir()
    (data / "a.txt").write_text("one\n")
    site.mill.ok("data", "init", cwd=data)
    site.mill.ok("data", "sync", cwd=data)

    made = site.mill.ok(
        "workspace", "create", "notes", "--size", "50MB", "--class", "standard", "--from", "digits", "--json"
    ).json  # fmt: skip
    assert (made["state"], made["how"], made["quota"], made["files"]) == ("ready", "fill", "claim", 1)
    (claim,) = site.claims()
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert claim["metadata"]["annotations"]["millpond.dev/workspace-name"] == "notes"
    assert site.run("notes", "cat /w/a.txt; echo two > /w/b.txt; echo $MILL_WORKSPACE_NOTES") == "one\n/w\n"

    taken = site.mill.ok("workspace", "snapshot", "notes", "first", "--kept", "--json").json
    assert (taken["state"], taken["near"], taken["files"], taken["consistency"]) == ("kept", False, 2, "atomic")
    site.run("notes", "python3 -c 'import os; os.remove(\"/w/a.txt\")' && echo three > /w/b.txt")
    changed = site.mill.ok("workspace", "diff", "notes@first", "--json").json
    assert {one["path"] for one in changed["items"]} == {"a.txt", "b.txt"}
    site.mill.ok("workspace", "restore", "notes@first", "--yes", "--json")
    site.ready("notes")
    assert site.run("notes", "cat /w/a.txt /w/b.txt") == "one\ntwo\n"
    (after,) = site.claims()
    assert after["metadata"]["name"] != claim["metadata"]["name"], "the old claim is gone"

    clone = site.mill.ok("workspace", "clone", "notes", "second", "--json").json
    assert (clone["state"], clone["how"], clone["storage_class"], clone["files"]) == ("ready", "copy", "standard", 2)
    assert site.run("second", "cat /w/b.txt; mill-no 2>/dev/null; echo own > /w/own.txt") == "two\n"
    assert site.run("notes", "ls /w") == "a.txt\nb.txt\n"
    why = site.mill.ok("why", "second").out
    assert "only CSI drivers clone, and kubernetes.io/host-path is none" in why
    assert "its snapshots are kept in the lake at once: the cluster has no VolumeSnapshots" in why
    wait_until(lambda: site.show("second")["files"] == 3, within=WITHIN, what="its space, measured")
    listed = site.mill.ok("workspace", "list", "--space", "--json").json["items"]
    assert all(one["used_bytes"] > 0 and one["quota"] == "claim" for one in listed)

    site.mill.ok("submit", "--no-code", "--compute", "cluster", "--pvc", "standard:20MB:/x", "--wait", "--", "true")
    (third,) = (one for one in site.mill.ok("workspace", "list", "--json").json["items"] if one["size_bytes"] == 2e7)
    assert third["storage_class"] == "standard"
    for name in ("notes", "second", third["name"]):
        site.mill.ok("workspace", "rm", name)
        site.mill.ok("workspace", "rm", name, "--purge", "--yes")
    wait_until(lambda: not site.objects(), within=WITHIN, what="nothing left on the cluster")
    assert not [path for path in (site.root / "volume" / "workspaces").glob("*/*") if path.is_dir()]


def test_storage_that_takes_snapshots_and_clones(site: ClaimSite) -> None:
    """Custom resources and a controller of our own stand in for a CSI driver; all else is real."""
    storage = site.root / "storage"
    storage.mkdir()
    with storage_with_snapshots(site.kube, storage):
        site.kill_agent()
        site.start_agent()  # which asks anew
        wait_until(lambda: CLASS in site.classes(), within=WITHIN, what="the class")
        told = site.classes()[CLASS]
        assert (told["clones"], told["expands"], told["snapshot_class"]) == (True, True, "frozen-snapshots")
        site.mill.ok("workspace", "create", "notes", "--size", "20MB", "--class", CLASS, "--json")
        site.run("notes", "echo one > /w/a.txt")
        near = site.mill.ok("workspace", "snapshot", "notes", "first", "--json").json
        assert near["state"] in ("near", "kept") and near["near"] and near["consistency"] == "atomic"
        site.run("notes", "echo two > /w/a.txt")
        assert site.kept("notes", "first")["files"] == 1
        restored = site.mill.ok("workspace", "restore", "notes@first", "--yes", "--json").json
        assert restored["state"] == "ready"
        assert site.run("notes", "cat /w/a.txt") == "one\n"
        clone = site.mill.ok("workspace", "clone", "notes", "second", "--json").json
        assert clone["how"] == "csi"
        assert site.run("second", "cat /w/a.txt") == "one\n"
        assert site.mill.ok("workspace", "resize", "notes", "30MB", "--json").json["size_bytes"] == 30_000_000

        def sizes() -> set[str]:
            return {one["spec"]["resources"]["requests"]["storage"] for one in site.claims()}

        wait_until(lambda: sizes() == {"20M", "30M"}, within=WITHIN, what="the larger claim")
        for name in ("notes", "second"):
            site.mill.ok("workspace", "rm", name)
            site.mill.ok("workspace", "rm", name, "--purge", "--yes")
        everything = "pvc,jobs,volumesnapshots"
        wait_until(lambda: not site.objects(everything), within=WITHIN, what="nothing left on the cluster")


def test_an_agent_that_is_killed_in_each_verb_leaves_nothing(site: ClaimSite) -> None:
    chance = random.Random(site.space)

    def kill() -> None:
        """At any moment of what was just asked for; the next agent goes on."""
        time.sleep(chance.uniform(0.0, 4.0))
        site.kill_agent()
        site.start_agent()

    def ask(*arguments: str) -> None:
        site.mill.ok("workspace", *arguments, "--no-wait", "--json")
        kill()

    ask("create", "base", "--size", "20MB", "--class", "standard")
    site.ready("base")
    site.run("base", "echo one > /w/a.txt")
    for number in range(2):
        site.mill.ok("workspace", "snapshot", "base", f"s{number}", "--json")
        kill()
        site.kept("base", f"s{number}")
        site.run("base", "echo changed > /w/a.txt")
        site.mill.ok("workspace", "restore", f"base@s{number}", "--yes", "--no-wait", "--json")
        kill()
        site.ready("base")
        assert site.run("base", "cat /w/a.txt") == "one\n"
        ask("clone", f"base@s{number}", f"clone{number}")
        site.ready(f"clone{number}")
        assert site.run(f"clone{number}", "cat /w/a.txt") == "one\n"
    wait_until(lambda: len(site.claims()) == 3, within=WITHIN, what="a claim for each workspace and no more")
    for name in ("base", "clone0", "clone1"):
        site.mill.ok("workspace", "rm", name)
        site.mill.ok("workspace", "rm", name, "--purge", "--yes")
        kill()
    wait_until(lambda: not site.objects(), within=WITHIN, what="nothing left on the cluster")
    left = site.root / "volume" / "workspaces"
    wait_until(lambda: not [one for one in left.glob("*/*") if one.is_dir()], within=WITHIN, what="no directory left")
