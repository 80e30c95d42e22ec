"""Workspaces that are claims: each verb by each way that storage has, and what is left when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.workspaces import claim_task
from millpond.agent.workspaces.claim_disk import ClaimDisk
from millpond.agent.workspaces.claims_left import LiveNames, spaces_of, sweep
from millpond.agent.workspaces.work import WorkspaceCancelled
from millpond.errors import Conflict, MillError, Unavailable
from millpond.lake.nursery import Nursery
from millpond.testing.agents import a_workspace
from millpond.testing.claims import LYING, PLAIN, DirectoryClaims
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.volumes.workspaces.layout import WorkspaceDocument, WorkspaceFolder
from millpond.volumes.workspaces.trees import TreeTools
from millpond.wire.workspaces import DesiredRestore, DesiredSnapshot, DesiredSource, DesiredWorkspace

PLACE = CommitPlace("project", "dataset", "c" * 64)
CACHED = DesiredSource(kind="commit", project_id="project", dataset_id="dataset", commit_id="c" * 64, cached=True)
AWAY = CACHED.model_copy(update={"cached": False})
FILES = {"a/one": b"one", "two": b"two"}


def no_keep(*_: Any) -> str:
    raise AssertionError("a program in a pod does that")


class Site:
    """A volume, a cluster, and agents that know nothing of each other."""

    def __init__(self, root: Path) -> None:
        self.volume = CacheVolume(root / "volume", "v1")
        self.claims = DirectoryClaims(root / "cluster")
        self.kept: dict[str, dict[str, bytes]] = {}
        self.live = LiveNames()
        self.waited: list[str] = []
        self.wanted: Callable[[], None] = lambda: None
        for name, content in FILES.items():
            path = self.volume.commit(PLACE) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def disk(self, desired: DesiredWorkspace) -> ClaimDisk:
        folder = WorkspaceFolder(self.volume, "project", desired.id)
        tools = TreeTools(self.volume, Nursery())
        return ClaimDisk(
            self.claims, tools, folder, desired, "http://s", lambda: self.wanted(), self.live, self.waited.append
        )

    def make(self, name: str, source: DesiredSource = CACHED, **about: Any) -> WorkspaceDocument:
        desired = a_claim(name, source=source, **about)
        return self.disk(desired).create(desired)[0]

    def files(self, document: WorkspaceDocument) -> dict[str, bytes]:
        return read(self.claims.root / f"claim-{document.claim}" / "tree")

    def left(self) -> list[str]:
        """What a sweep of the volume finds, which there should be none of."""
        found = sweep(self.claims, self.volume, spaces_of(self.claims, self.volume), {}, LiveNames())
        return [f"{one.kind} {one.name}" for one in found]


def a_claim(name: str = "w1", **about: Any) -> DesiredWorkspace:
    return a_workspace(name, **{"storage_class": "rich", "volume_id": "v1", "size_bytes": 10**9, **about})


def a_snapshot(number: int = 1) -> DesiredSnapshot:
    return DesiredSnapshot(number=number, name=f"s{number}", attempt=1, want="near")


def read(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site(tmp_path)

    def keep(server: str, desired: Any, snapshot: Any, tree: Path, *_: Any) -> str:
        found.kept[f"{desired.id}/{snapshot.number}"] = read(tree)
        return f"commit-{snapshot.number}"

    def fetch(server: str, desired: Any, source: Any, directory: Path) -> None:
        (directory / "fetched").write_bytes(source.commit_id.encode())

    monkeypatch.setattr(claim_task, "keep_snapshot", keep)
    monkeypatch.setattr(claim_task, "fetch_source", fetch)
    return found


def test_a_claim_is_made_from_each_kind_of_source(site: Site) -> None:
    empty = site.make("empty", DesiredSource())
    assert (empty.how, site.files(empty)) == ("empty", {})
    cached = site.make("cached")
    assert (cached.how, cached.files, site.files(cached)) == ("copy", 2, FILES)
    filled = site.make("filled", AWAY)
    assert (filled.how, site.files(filled)) == ("fill", {"fetched": b"c" * 64})
    live = DesiredSource(kind="workspace", workspace_id="cached")
    cloned = site.make("cloned", live)
    assert (cloned.how, site.files(cloned)) == ("csi", FILES)
    copied = site.make("copied", live, storage_class="plain")
    assert (copied.how, site.files(copied)) == ("copy", FILES)
    assert site.left() == []


def test_a_class_that_makes_an_empty_claim_instead_of_a_clone_is_found_out(site: Site) -> None:
    site.make("first", storage_class=LYING.name)
    made = site.make("second", DesiredSource(kind="workspace", workspace_id="first"), storage_class=LYING.name)
    assert (made.how, made.reason) == ("copy", "lying made an empty claim instead of a clone")
    assert site.files(made) == FILES
    assert len(site.claims.names("claim")) == 2


def test_a_clone_that_the_cluster_refuses_is_copied(site: Site) -> None:
    site.make("first")
    site.claims.refuses = "rich does not clone today"
    made = site.make("second", DesiredSource(kind="workspace", workspace_id="first"))
    assert (made.how, made.reason, site.files(made)) == ("copy", "rich does not clone today", FILES)


def test_a_snapshot_is_frozen_by_the_storage_and_kept_from_there(site: Site) -> None:
    document = site.make("w1")
    disk = site.disk(a_claim())
    taken = disk.snapshot(a_snapshot())
    assert (taken.is_near, taken.consistency, taken.kept_commit) == (True, "atomic", None)
    (site.claims.root / f"claim-{document.claim}" / "tree" / "two").write_bytes(b"changed")
    kept = disk.keep(a_claim(), a_snapshot(), no_keep)
    assert (kept.kept_commit, kept.files, site.kept["w1/1"]) == ("commit-1", 2, FILES)
    assert site.claims.names("claim") == [document.claim], "the claim that it was read from is gone"
    assert disk.snapshot(a_snapshot()) == kept, "asked twice"
    disk.remove_snapshot(1)
    assert site.claims.names("snapshot") == []


def test_without_snapshots_one_is_kept_at_once(site: Site) -> None:
    site.make("w1", storage_class=PLAIN.name)
    taken = site.disk(a_claim(storage_class=PLAIN.name)).snapshot(a_snapshot())
    assert (taken.is_near, taken.kept_commit, taken.files, taken.consistency) == (False, "commit-1", 2, "atomic")
    used = site.disk(a_claim(storage_class=PLAIN.name, in_use=True)).snapshot(a_snapshot(2))
    assert used.consistency == "per-file", "a job may write meanwhile"


def test_a_restore_makes_a_new_claim_and_removes_the_old_one(site: Site) -> None:
    before = site.make("w1")
    disk = site.disk(a_claim())
    disk.snapshot(a_snapshot())
    (site.claims.root / f"claim-{before.claim}" / "tree" / "two").write_bytes(b"changed")
    source = DesiredSource(kind="snapshot", workspace_id="w1", number=1)
    wanted = a_claim(restore=DesiredRestore(attempt=7, source=source))
    after = site.disk(wanted).restore(wanted)
    assert (after.restored, after.how, site.files(after)) == (7, "csi", FILES)
    assert site.claims.names("claim") == [after.claim] != [before.claim]
    assert site.disk(wanted).restore(wanted) == after, "the same attempt does it once"


def test_removal_leaves_nothing(site: Site) -> None:
    site.make("w1")
    disk = site.disk(a_claim())
    disk.snapshot(a_snapshot())
    assert disk.remove(disk.set_aside())
    assert site.claims.made == {}
    assert list((site.volume.root / "workspaces" / "project").iterdir()) == []


@pytest.mark.parametrize("step", ["create", "run", "ran"])
@pytest.mark.parametrize("verb", ["create", "restore", "keep"])
def test_what_fails_leaves_nothing_and_can_be_done_again(site: Site, verb: str, step: str) -> None:
    document = None if verb == "create" else site.make("w1")
    if verb != "create":
        site.disk(a_claim()).snapshot(a_snapshot())
    known = set(site.claims.made)

    def fails(what: str) -> None:
        if what == step:
            raise Conflict("It fails.")

    site.claims.before = fails
    with pytest.raises(Conflict):
        carry_out(site, verb)
    assert set(site.claims.made) == known
    site.claims.before = lambda what: None
    carry_out(site, verb)
    assert site.left() == []
    assert document is None or site.files(site.disk(a_claim())._document()) == FILES


@pytest.mark.parametrize("step", ["create", "run", "ran", "remove"])
@pytest.mark.parametrize("verb", ["create", "restore", "keep", "snapshot"])
def test_an_agent_that_is_killed_leaves_what_the_next_one_removes(site: Site, verb: str, step: str) -> None:
    if verb != "create":
        site.make("w1")
    if verb not in ("create", "snapshot"):
        site.disk(a_claim()).snapshot(a_snapshot())
    killed: list[str] = []

    def dies(what: str) -> None:
        # From then on it does nothing any more.
        if what == step or killed:
            killed.append(what)
            raise ConnectionError("killed")

    site.claims.before = dies
    try:
        carry_out(site, verb)
    except (OSError, MillError):
        assert killed
    site.claims.before = lambda what: None
    site.live = LiveNames()
    site.left()  # which an agent removes when it starts
    carry_out(site, verb)
    assert site.left() == []
    found = site.disk(a_claim())._document()
    assert site.files(found) == FILES
    assert site.claims.names("claim") == [found.claim]


def carry_out(site: Site, verb: str) -> None:
    source = DesiredSource(kind="snapshot", workspace_id="w1", number=1)
    match verb:
        case "create":
            site.make("w1")
        case "restore":
            wanted = a_claim(restore=DesiredRestore(attempt=7, source=source))
            site.disk(wanted).restore(wanted)
        case "keep":
            site.disk(a_claim()).keep(a_claim(), a_snapshot(), no_keep)
        case _:
            site.disk(a_claim()).snapshot(a_snapshot())


def test_nothing_is_made_that_is_no_longer_wanted(site: Site) -> None:
    def cancelled() -> None:
        raise WorkspaceCancelled("no longer wanted")

    site.wanted = cancelled
    with pytest.raises(WorkspaceCancelled):
        site.make("w1")
    assert site.claims.made == {}


def test_a_class_that_is_gone_says_so(site: Site) -> None:
    site.make("w1")
    site.claims.found = ()
    with pytest.raises(Unavailable, match="no storage class 'rich'"):
        site.disk(a_claim()).snapshot(a_snapshot())


def test_what_is_being_made_elsewhere_is_not_swept(site: Site) -> None:
    site.make("w1")
    other = LiveNames()
    disk = replace(site.disk(a_claim()), live=other)
    with other.held():
        name = disk._claim_of("jobs")
        assert sweep(site.claims, site.volume, {"jobs"}, {}, other) == []
        assert name in site.claims.made
    assert sweep(site.claims, site.volume, {"jobs"}, {}, other) == [name]
