"""Storage of a test cluster that takes snapshots and clones: custom resources as a CSI driver's, and a controller.

The API server, the binder of claims and the kubelet are real. What a CSI driver and its sidecars do, this does with
directories: a volume is a directory of the node, a snapshot and a clone are copies of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from millpond.testing.kube import Kube

DRIVER = "csi.millpond.test"
CLASS = "frozen"
_GROUP = "snapshot.storage.k8s.io"


def _definition(kind: str, plural: str, scope: str) -> dict[str, Any]:
    """As those of the external snapshotter, but with any fields."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}} if kind == "VolumeSnapshot" else {},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{_GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": _GROUP,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


_OBJECTS = (
    _definition("VolumeSnapshot", "volumesnapshots", "Namespaced"),
    _definition("VolumeSnapshotClass", "volumesnapshotclasses", "Cluster"),
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"attachRequired": False},
    },
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": DRIVER,
        "allowVolumeExpansion": True,
    },
)
_SNAPSHOTS = {
    "apiVersion": f"{_GROUP}/v1",
    "kind": "VolumeSnapshotClass",
    "metadata": {"name": "frozen-snapshots"},
    "driver": DRIVER,
    "deletionPolicy": "Delete",
}


@contextmanager
def storage_with_snapshots(kube: Kube, root: Path) -> Iterator[None]:
    """The class `frozen` while the block lasts; its volumes lie in `root`, which the node sees."""
    for one in _OBJECTS:
        kube.kubectl("apply", "-f", "-", stdin=json.dumps(one))
    kube.kubectl("wait", "--for=condition=Established", f"crd/volumesnapshots.{_GROUP}", "--timeout=60s")
    kube.kubectl("wait", "--for=condition=Established", f"crd/volumesnapshotclasses.{_GROUP}", "--timeout=60s")
    kube.kubectl("apply", "-f", "-", stdin=json.dumps(_SNAPSHOTS))
    over = threading.Event()
    controller = threading.Thread(target=_Controller(kube, root).run, args=(over,))
    controller.start()
    try:
        yield
    finally:
        over.set()
        controller.join()
        for one in reversed((*_OBJECTS, _SNAPSHOTS)):
            kube.kubectl("delete", one["kind"], one["metadata"]["name"], "--ignore-not-found", "--wait=false")


class _Controller:
    def __init__(self, kube: Kube, root: Path) -> None:
        self._kube, self._root = kube, root

    def run(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            # Whatever changes under it is seen the next time.
            with suppress(subprocess.CalledProcessError, OSError):
                self._look()

    def _look(self) -> None:
        claims = self._all("pvc")
        for one in claims:
            is_ours = one["spec"].get("storageClassName") == CLASS
            if is_ours and one["status"].get("phase") == "Pending" and not one["spec"].get("volumeName"):
                self._provide(one)
        for one in self._all("volumesnapshots"):
            if not (one.get("status") or {}).get("readyToUse"):
                self._freeze(one, claims)

    def _provide(self, claim: Mapping[str, Any]) -> None:
        path = self._root / claim["metadata"]["uid"]
        if not path.exists():
            origin = claim["spec"].get("dataSource")
            part = path.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            if origin is None:
                part.mkdir(parents=True)
            else:
                shutil.copytree(self._of(origin, claim["metadata"]["namespace"]), part)
            part.rename(path)
        about = claim["metadata"]
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{about['uid']}"},
            "spec": {
                "accessModes": claim["spec"]["accessModes"],
                "capacity": claim["spec"]["resources"]["requests"],
                "storageClassName": CLASS,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": str(path)},
                "claimRef": {"namespace": about["namespace"], "name": about["name"], "uid": about["uid"]},
            },
        }
        self._kube.kubectl("apply", "-f", "-", stdin=json.dumps(volume))

    def _of(self, origin: Mapping[str, Any], namespace: str) -> Path:
        if origin["kind"] == "VolumeSnapshot":
            found = json.loads(
                self._kube.kubectl("-n", namespace, "get", "volumesnapshots", origin["name"], "-o", "json")
            )
            return self._root / f"snapshot-{found['metadata']['uid']}"
        found = json.loads(self._kube.kubectl("-n", namespace, "get", "pvc", origin["name"], "-o", "json"))
        return self._root / str(found["metadata"]["uid"])

    def _freeze(self, snapshot: Mapping[str, Any], claims: list[dict[str, Any]]) -> None:
        about, wanted = snapshot["metadata"], snapshot["spec"]["source"]["persistentVolumeClaimName"]
        source = next(
            one["metadata"]["uid"]
            for one in claims
            if (one["metadata"]["namespace"], one["metadata"]["name"]) == (about["namespace"], wanted)
        )
        target = self._root / f"snapshot-{about['uid']}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self._root / source, target)
        done = {**snapshot, "status": {"readyToUse": True}}
        path = f"/apis/{_GROUP}/v1/namespaces/{about['namespace']}/volumesnapshots/{about['name']}/status"
        self._kube.kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(done))

    def _all(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._kube.kubectl("get", kind, "-A", "-o", "json"))["items"]
        return found
