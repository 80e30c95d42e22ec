"""Claims of workspaces in a cluster: made, cloned, frozen, and worked on by programs that run in pods."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from millpond.agent.drivers.claims import ClaimProgram, ClaimRefused, Kind, Named, NewClaim, StorageClass, Waiting
from millpond.agent.drivers.kubernetes import claim_objects, explain
from millpond.agent.drivers.kubernetes.api import KubeApi, Refused
from millpond.agent.drivers.kubernetes.manifest import MANAGED
from millpond.agent.drivers.kubernetes.options import KubernetesOptions, as_name

CLASSES_SECONDS = 60.0
LOOK_SECONDS = 0.3
# So long something takes until its reason is asked for.
_SLOW_SECONDS = 3.0
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_KINDS: Sequence[Kind] = ("job", "snapshot", "claim")


class KubeClaims:
    """See `Claims` for the contract."""

    def __init__(self, api: KubeApi, options: KubernetesOptions, namespace: str) -> None:
        self._api, self._options, self._namespace = api, options, namespace
        self._classes: Sequence[StorageClass] = ()
        self._due = 0.0
        # Of the group of snapshots, as the API server prefers it; None: it does not know them.
        self._snapshot_version: str | None = None

    def classes(self) -> Sequence[StorageClass]:
        return self._classes

    def look(self) -> None:
        if time.monotonic() < self._due:
            return
        self._classes = self._ask() if self._may_claim() else ()
        self._due = time.monotonic() + CLASSES_SECONDS

    def space_of(self, project: str) -> str:
        return self._namespace.replace("{project}", as_name(project))

    def spaces(self) -> Sequence[str]:
        return () if "{" in self._namespace else (self._namespace,)

    def create(self, claim: NewClaim) -> None:
        self._api.create(self._all("claim", claim.name.space), claim_objects.claim(claim))

    def resize(self, claim: Named, size_bytes: int) -> None:
        part = {"spec": {"resources": {"requests": {"storage": str(size_bytes)}}}}
        self._api.change(self._one(claim), part)

    def snapshot(self, name: Named, claim: Named, snapshot_class: str, labels: Mapping[str, str]) -> None:
        version = self._snapshots()
        if version is None:
            raise OSError("The cluster no longer knows VolumeSnapshots.")
        body = claim_objects.snapshot(version, name, claim, snapshot_class, labels)
        self._api.create(self._all("snapshot", name.space), body)

    def wait_for_snapshot(self, name: Named, waiting: Waiting) -> None:
        while True:
            found = self._api.get(self._one(name))
            if found is None:
                raise OSError(f"VolumeSnapshot {name.name} was removed by somebody else.")
            status = found.get("status") or {}
            if status.get("readyToUse"):
                return
            waiting(str((status.get("error") or {}).get("message") or ""))
            time.sleep(LOOK_SECONDS)

    def run(self, program: ClaimProgram, waiting: Waiting) -> None:
        node = self._node_of(program)
        body = claim_objects.program(program, self._options, user=(os.geteuid(), os.getegid()), node=node)
        try:
            self._api.create(self._all("job", program.name.space), body)
            self._wait_for(program, waiting)
        finally:
            self.remove(program.name)

    def remove(self, name: Named) -> None:
        self._api.delete(self._one(name))
        while name.kind == "job" and self._pods(name):
            time.sleep(LOOK_SECONDS)

    def listed(self, space: str, labels: Mapping[str, str]) -> Sequence[Named]:
        selector = ",".join(f"{key}={value}" for key, value in {**MANAGED, **labels}.items())
        kinds = [kind for kind in _KINDS if kind != "snapshot" or self._snapshots()]
        return [
            Named(kind, space, one["metadata"]["name"])
            for kind in kinds
            for one in self._api.list(self._all(kind, space), labelSelector=selector)
            if not one["metadata"].get("deletionTimestamp")
        ]

    # What there is

    def _may_claim(self) -> bool:
        """Where every project has a namespace of its own there is no one answer: it is tried then."""
        if "{" in self._namespace:
            return True
        asked = {"verb": "create", "resource": "persistentvolumeclaims", "namespace": self._namespace}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = self._api.ask(_REVIEWS, {**body, "spec": {"resourceAttributes": asked}})
        return bool((answer.get("status") or {}).get("allowed", False))

    def _ask(self) -> Sequence[StorageClass]:
        storage = "/apis/storage.k8s.io/v1"
        found = self._listed_or_none(f"{storage}/storageclasses")
        self._snapshot_version = None
        version = self._snapshots()
        snapshots = None if version is None else self._listed_or_none(f"/apis/{version}/volumesnapshotclasses")
        return claim_objects.classes(found or (), self._listed_or_none(f"{storage}/csidrivers"), snapshots)

    def _snapshots(self) -> str | None:
        """Asked again as long as there are none."""
        if self._snapshot_version is None:
            group = self._api.get(f"/apis/{claim_objects.SNAPSHOT_GROUP}")
            self._snapshot_version = group["preferredVersion"]["groupVersion"] if group else None
        return self._snapshot_version

    def _listed_or_none(self, path: str) -> Sequence[dict[str, Any]] | None:
        try:
            return self._api.list(path)
        except Refused as error:
            if error.code not in (403, 404):
                raise
            return None

    # Programs

    def _wait_for(self, program: ClaimProgram, waiting: Waiting) -> None:
        began = time.monotonic()
        asked = began
        while not program.result.exists():
            waiting("")
            if time.monotonic() - asked > 1.0:
                asked = time.monotonic()
                self._look_at(program, waiting, slow=asked - began > _SLOW_SECONDS)
            time.sleep(LOOK_SECONDS)

    def _look_at(self, program: ClaimProgram, waiting: Waiting, *, slow: bool) -> None:
        pods = self._pods(program.name)
        pod = pods[-1] if pods else None
        if pod is not None and explain.is_over(pod):
            if program.result.exists():
                return
            ended = explain.how_it_ended(pod)
            image = self._options.workspace_image or self._options.image
            raise OSError(
                f"The pod that works on the workspace ended without a result ({ended.reason or ended.exit_code}): "
                f"{ended.message or 'it said nothing'}. Its image {image} must have this version of Millpond: see "
                f"--option workspace_image."
            )
        if pod is None and self._api.get(self._one(program.name)) is None:
            raise OSError(f"Job {program.name.name} was removed by somebody else.")
        if slow and (pod is None or (pod.get("status") or {}).get("phase") == "Pending"):
            self._check_claims(program)
            waiting(self._why_pending(program, pod))

    def _check_claims(self, program: ClaimProgram) -> None:
        """ClaimRefused for one that begins as another and that nobody makes."""
        for one in program.claims:
            found = self._api.get(self._one(one.name))
            if found is None or not found["spec"].get("dataSource"):
                continue
            refused = self._refusal(one.name) if (found.get("status") or {}).get("phase") == "Pending" else ""
            if refused:
                raise ClaimRefused(refused)

    def _why_pending(self, program: ClaimProgram, pod: Mapping[str, Any] | None) -> str:
        for one in program.claims:
            if refused := self._refusal(one.name):
                return refused
        return explain.why_pending(pod, self._events(pod["metadata"]["name"] if pod else program.name.name, program))

    def _refusal(self, claim: Named) -> str:
        asked = f"involvedObject.name={claim.name},reason=ProvisioningFailed"
        found = self._api.list(f"/api/v1/namespaces/{claim.space}/events", fieldSelector=asked)
        recent = datetime.now(UTC) - timedelta(minutes=2)
        told = [each for each in found if _seen_at(each) > recent]
        return str(told[-1]["message"]) if told else ""

    def _events(self, name: str, program: ClaimProgram) -> Sequence[dict[str, Any]]:
        path = f"/api/v1/namespaces/{program.name.space}/events"
        return self._api.list(path, fieldSelector=f"involvedObject.name={name}")

    def _node_of(self, program: ClaimProgram) -> str | None:
        """Where a pod has one of the claims: those for one node are mounted on no other."""
        wanted = {one.name.name for one in program.claims}
        for pod in self._api.list(f"/api/v1/namespaces/{program.name.space}/pods"):
            node = pod["spec"].get("nodeName")
            if node and not explain.is_over(pod) and wanted & _claims_of(pod):
                return str(node)
        return None

    def _pods(self, job: Named) -> Sequence[dict[str, Any]]:
        return self._api.list(f"/api/v1/namespaces/{job.space}/pods", labelSelector=f"job-name={job.name}")

    def _all(self, kind: Kind, space: str) -> str:
        if kind == "job":
            return f"/apis/batch/v1/namespaces/{space}/jobs"
        if kind == "claim":
            return f"/api/v1/namespaces/{space}/persistentvolumeclaims"
        return f"/apis/{self._snapshots()}/namespaces/{space}/volumesnapshots"

    def _one(self, name: Named) -> str:
        return f"{self._all(name.kind, name.space)}/{name.name}"


def _claims_of(pod: Mapping[str, Any]) -> set[str]:
    volumes = pod["spec"].get("volumes") or ()
    return {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one}


def _seen_at(event: Mapping[str, Any]) -> datetime:
    told = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(told)
