"""Claims of a real cluster, without a server: made, frozen, cloned, enlarged, swept; with storage that can little, and
with one that a controller of the test stands in for."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers.claims import Named, NewClaim
from millpond.agent.drivers.kubernetes.access import find_access
from millpond.agent.drivers.kubernetes.api import KubeApi
from millpond.agent.drivers.kubernetes.claims import KubeClaims
from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.agent.workspaces.claim_disk import ClaimDisk
from millpond.agent.workspaces.claims_left import LiveNames, labels_of, sweep
from millpond.errors import MillError
from millpond.lake.nursery import Nursery
from millpond.testing.agents import a_workspace
from millpond.testing.kube import IMAGE, Kube
from millpond.testing.storage import CLASS, storage_with_snapshots
from millpond.volumes.volume import CacheVolume
from millpond.volumes.workspaces.layout import WorkspaceDocument, WorkspaceFolder
from millpond.volumes.workspaces.trees import TreeTools
from millpond.wire.workspaces import DesiredRestore, DesiredSnapshot, DesiredSource, DesiredWorkspace

MILLPOND = "localhost/millpond:claims"
# The first test starts the cluster and makes an image, and pods wait for loaded machines.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


class Cluster:
    def __init__(self, kube: Kube, root: Path) -> None:
        self.kube, self.root, self.space = kube, root, f"claims-{secrets.token_hex(3)}"
        kube.kubectl("create", "namespace", self.space)
        access = find_access(kube.kubeconfig, None)
        told = KubernetesOptions.model_validate(
            {"image": IMAGE, "workspace_image": MILLPOND, "mount": [f"{root}=host"], "namespace": self.space}
        )
        self.api = KubeApi(access)
        self.claims = KubeClaims(self.api, told, self.space)
        (root / "volume").mkdir()
        self.volume = CacheVolume(root / "volume", "v1")
        self.live = LiveNames()
        self.waited: list[str] = []

    def disk(self, desired: DesiredWorkspace, claims: Any = None) -> ClaimDisk:
        folder = WorkspaceFolder(self.volume, "project", desired.id)
        tools = TreeTools(self.volume, Nursery())
        return ClaimDisk(
            claims or self.claims, tools, folder, desired, "", lambda: None, self.live, self.waited.append
        )  # fmt: skip

    def make(self, name: str, storage_class: str, source: DesiredSource | None = None) -> WorkspaceDocument:
        desired = self.wanted(name, storage_class, source=source or DesiredSource())
        return self.disk(desired).create(desired)[0]

    def wanted(self, name: str, storage_class: str, **about: Any) -> DesiredWorkspace:
        return a_workspace(name, storage_class=storage_class, size_bytes=20_000_000, **about)

    def tree(self, document: WorkspaceDocument) -> Path:
        """Where the node has it: here, claims are directories of this machine."""
        claim = json.loads(self.kube.kubectl("-n", self.space, "get", "pvc", document.claim, "-o", "json"))
        volume = json.loads(self.kube.kubectl("get", "pv", claim["spec"]["volumeName"], "-o", "json"))
        return Path(volume["spec"]["hostPath"]["path"]) / "tree"

    def remove(self, name: str, storage_class: str) -> None:
        disk = self.disk(self.wanted(name, storage_class))
        assert disk.remove(disk.set_aside())

    def left(self) -> list[Named]:
        return list(self.claims.listed(self.space, {"millpond.dev/volume": "v1"}))


@pytest.fixture(scope="module")
def image(kube: Kube) -> str:
    kube.make_millpond_image(MILLPOND)
    return MILLPOND


@pytest.fixture
def cluster(kube: Kube, image: str, tmp_path: Path) -> Iterator[Cluster]:
    found = Cluster(kube, tmp_path)
    with closing(found.api):
        found.claims.look()
        yield found
        kube.kubectl("delete", "namespace", found.space, "--wait=false")


def test_a_class_that_can_nothing_but_be_there(cluster: Cluster) -> None:
    (told,) = [one for one in cluster.claims.classes() if one.name == "standard"]
    assert (told.is_default, told.clones, told.expands, told.snapshot_class) == (True, False, False, "")
    first = cluster.make("w1", "standard")
    (cluster.tree(first) / "a").write_text("one")
    assert first.how == "empty"
    second = cluster.make("w2", "standard", DesiredSource(kind="workspace", workspace_id="w1"))
    assert (second.how, (cluster.tree(second) / "a").read_text()) == ("copy", "one")
    space = cluster.disk(cluster.wanted("w2", "standard")).measure()
    assert space is not None and (space.files, space.size) == (1, 3)
    for name in ("w1", "w2"):
        cluster.remove(name, "standard")
    assert cluster.left() == []


@dataclass
class Dying:
    """Claims of an agent that is killed at its `steps`-th call: from then on, nothing is done any more."""

    claims: Any
    steps: int

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            self.steps -= 1
            if self.steps < 0:
                raise ConnectionError("killed")
            return getattr(self.claims, name)(*arguments)

        return call


def test_an_agent_that_dies_at_any_call_leaves_what_the_next_one_removes(cluster: Cluster) -> None:
    first = cluster.make("w1", "standard")
    (cluster.tree(first) / "a").write_text("one")
    wanted = cluster.wanted("w2", "standard", source=DesiredSource(kind="workspace", workspace_id="w1"))
    for steps in range(1, 9):
        cluster.live = LiveNames()
        try:
            cluster.disk(wanted, Dying(cluster.claims, steps)).create(wanted)
        except (OSError, MillError):
            continue
        break
    cluster.live = LiveNames()
    sweep(cluster.claims, cluster.volume, {cluster.space}, {}, cluster.live)
    made = cluster.disk(wanted).create(wanted)[0]
    assert (cluster.tree(made) / "a").read_text() == "one"
    assert sorted(one.name for one in cluster.left()) == sorted([first.claim, made.claim])


def test_storage_that_takes_snapshots_and_clones(cluster: Cluster) -> None:
    """Custom resources and a controller of our own stand in for a CSI driver; all else is real."""
    storage = cluster.root / "storage"
    storage.mkdir()
    with storage_with_snapshots(cluster.kube, storage):
        cluster.claims = KubeClaims(cluster.api, cluster.claims._options, cluster.space)
        cluster.claims.look()
        (told,) = [one for one in cluster.claims.classes() if one.name == CLASS]
        assert (told.clones, told.expands, told.snapshot_class) == (True, True, "frozen-snapshots")
        first = cluster.make("w1", CLASS)
        file = cluster.tree(first) / "a"
        file.write_text("one")
        disk = cluster.disk(cluster.wanted("w1", CLASS))
        taken = disk.snapshot(DesiredSnapshot(number=1, name="s1", attempt=1, want="near"))
        assert taken.is_near and taken.volume_snapshot
        file.write_text("two")
        source = DesiredSource(kind="snapshot", workspace_id="w1", number=1)
        wanted = cluster.wanted("w1", CLASS, restore=DesiredRestore(attempt=5, source=source))
        restored = cluster.disk(wanted).restore(wanted)
        assert (restored.how, (cluster.tree(restored) / "a").read_text()) == ("csi", "one")
        clone = cluster.make("w2", CLASS, DesiredSource(kind="workspace", workspace_id="w1"))
        assert (clone.how, clone.files, (cluster.tree(clone) / "a").read_text()) == ("csi", 1, "one")
        disk.set_size(restored, 40_000_000)
        claim = json.loads(cluster.kube.kubectl("-n", cluster.space, "get", "pvc", restored.claim, "-o", "json"))
        assert claim["spec"]["resources"]["requests"]["storage"] == "40M"
        for name in ("w1", "w2"):
            cluster.remove(name, CLASS)
        assert cluster.left() == []


def test_a_claim_that_cannot_be_cloned_is_copied_and_says_why(cluster: Cluster) -> None:
    first = cluster.make("w1", "standard")
    (cluster.tree(first) / "a").write_text("one")
    name = Named("claim", cluster.space, "tried")
    origin = Named("claim", cluster.space, first.claim)
    # A provisioner of the cluster itself, which says that it does not clone: as it would of a CSI driver that does not.
    labels = labels_of(WorkspaceFolder(cluster.volume, "project", "w9"))
    cluster.claims.create(NewClaim(name, "standard", 20_000_000, origin=origin, labels=labels))
    classes = [one for one in cluster.claims.classes() if one.name == "standard"]
    cluster.claims._classes = [type(classes[0])("standard", classes[0].provisioner, clones=True)]
    made = cluster.make("w2", "standard", DesiredSource(kind="workspace", workspace_id="w1"))
    assert made.how == "copy" and made.reason, made
    assert (cluster.tree(made) / "a").read_text() == "one"
    cluster.claims.remove(name)
    shutil.rmtree(cluster.root / "volume")
