"""The Kubernetes driver: every placement is a Job with one pod, in which the keeper is the first process."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from millpond.agent import archives
from millpond.agent.drivers import Capabilities, NotStarted, Status, records
from millpond.agent.drivers.claims import Claims
from millpond.agent.drivers.gangs import lay_out
from millpond.agent.drivers.kubernetes import explain, gang
from millpond.agent.drivers.kubernetes.api import KubeApi, Refused
from millpond.agent.drivers.kubernetes.claims import KubeClaims
from millpond.agent.drivers.kubernetes.manifest import MANAGED, PLACEMENT, RANK, job, job_name
from millpond.agent.drivers.kubernetes.nodes import ClusterNode, usable_nodes
from millpond.agent.drivers.kubernetes.observed import FoundPods, WatchedPods, unbegun
from millpond.agent.drivers.kubernetes.options import KubernetesOptions, as_name
from millpond.agent.drivers.kubernetes.status import standing, why_unclaimed
from millpond.agent.drivers.kubernetes.tunnel import PodStream, may_enter_pods, pod_that_runs, run_in_pod
from millpond.agent.spec import Spec, keeper_directory, read_spec
from millpond.agent.threads import in_thread
from millpond.volumes.workspaces.layout import read_document
from millpond.wire.observed import NodeFacts

LOOK_SECONDS = 1.0
NODES_SECONDS = 15.0

_NO_ROUTERS = "Kubernetes starts pods under addresses of its own choice, where no client would find a router."
_SELECTOR = ",".join(f"{key}={value}" for key, value in MANAGED.items())


class KubernetesDriver:
    """See `Driver` for the contract. The placement's directory and the volumes are seen by the agent and by pods."""

    def __init__(self, api: KubeApi, options: KubernetesOptions, namespace: str, machine: NodeFacts) -> None:
        self._api = api
        self._options = options
        self._namespace = namespace
        self._machine = machine
        self._nodes: Mapping[str, ClusterNode] = MappingProxyType({})
        self._nodes_due = 0.0
        # Whether the cluster lets the agent run its far end in pods; asked together with the nodes.
        self._may_enter = False
        self._watched: dict[str, WatchedPods] = {}
        self._lock = threading.Lock()
        self._claims = KubeClaims(api, options, namespace)

    @property
    def name(self) -> str:
        return "kubernetes"

    @property
    def look_seconds(self) -> float:
        return LOOK_SECONDS

    def capabilities(self) -> Capabilities:
        return Capabilities(
            containers=True,
            default_image=self._options.image,
            limits_enforced=True,
            gangs=True,
            services=True,
            serving_problem=_NO_ROUTERS,
            gpu_fractions="none",  # a pod gets whole devices
            shared_trust=False,
            queues=True,
            exec=self._may_enter,
            ports=self._may_enter,
        )

    def claims(self) -> Claims:
        return self._claims

    def nodes(self) -> Sequence[NodeFacts]:
        return [node.facts for node in self._nodes.values()]

    def look(self) -> None:
        self._look_at_nodes()
        self._claims.look()
        with self._lock:
            watched = list(self._watched.values())
        spaces: dict[str, list[WatchedPods]] = defaultdict(list)
        for one in watched:
            spaces[self._space(one.spec)].append(one)
        for namespace, placements in spaces.items():
            self._look_at(namespace, placements)

    def start(self, directory: Path) -> None:
        watched = self._watch(directory)
        if watched is None or records.owner(directory):
            return
        if (directory / records.STOP).exists():
            records.give_up(directory)
            return
        self._hand_over(watched)

    def _hand_over(self, watched: WatchedPods) -> None:
        spec, directory = watched.spec, watched.directory
        archives.write_once(directory, archives.archives())
        if spec.ranks:
            self._make_names(spec)
            # Which GPUs a pod has is Kubernetes' to say.
            for one in lay_out(directory, spec, owns_gpus=False):
                rank = read_spec(one)
                if rank is not None and records.owner(one) is None:
                    self._create(directory, rank)
        else:
            self._create(directory, spec)
        watched.handed_at = time.monotonic()
        watched.job_seen = watched.job_deleted = False

    def _make_names(self, spec: Spec) -> None:
        """So that ranks can look each other up. They are told addresses, so an agent that may not is no worse off."""
        try:
            self._api.create(self._services(spec), gang.service(spec))
        except Refused as error:
            if error.code != 403:
                raise

    def _create(self, directory: Path, spec: Spec) -> None:
        node = self._nodes.get(spec.node)
        body = job(
            spec,
            directory,
            self._options,
            # The keeper reads and writes what the agent does.
            user=(os.geteuid(), os.getegid()),
            gpu_resource=(node and node.gpu_resource) or self._options.gpu_resource[0],
            # A cluster whose nodes the agent may not list is one node to the server, and none to Kubernetes.
            node=spec.node if node and node.facts is not self._machine else None,
            claims=_claims_of(spec),
        )
        self._api.create(self._jobs(spec), body)

    def status(self, directory: Path) -> Status:
        watched = self._watch(directory)
        if watched is None:
            return NotStarted()
        return standing(watched, gather_seconds=self._options.gather_seconds, now=time.monotonic())

    def stop(self, directory: Path) -> None:
        watched = self._watch(directory)
        if watched is None:
            return
        records.ask_to_stop(directory)
        if gang.is_withdrawn(directory):
            gang.start_over(directory)
        # One that no keeper has begun is taken from all of them; then its Job need not wait for room any longer.
        if records.give_up(directory) or records.exited(directory):
            self._delete(watched.spec)

    def forget(self, directory: Path) -> None:
        watched = self._watch(directory)
        if watched is None:
            return
        self._delete(watched.spec)
        with self._lock:
            self._watched.pop(directory.name, None)

    def serving_host(self, directory: Path) -> str | None:
        """The address of its pod, by the last look."""
        watched = self._watch(directory)
        pods = watched.found.pods if watched is not None and watched.found is not None else ()
        living = [pod for pod in pods if not explain.is_over(pod)]
        return (living[-1].get("status") or {}).get("podIP") if living else None

    async def far_end(self, directory: Path, rank: int = 0) -> PodStream:
        """A program in the container of the pod, beside the keeper."""
        watched = self._watch(directory)
        path = await in_thread(lambda: self._pod_that_runs(watched.spec, rank)) if watched is not None else None
        if path is None:
            whose = f"Rank {rank} of the job" if watched is not None and watched.spec.ranks else "The job"
            raise OSError(f"{whose} has no running pod.")
        place = keeper_directory(directory, rank)
        python = [self._options.python, "-I", "-S", "-B", str(directory / archives.FAR), str(place)]
        return await run_in_pod(self._api.access, path, python)

    def close(self) -> None:
        """Let go of connections."""
        self._api.close()

    # What there is

    def _look_at_nodes(self) -> None:
        if time.monotonic() < self._nodes_due:
            return
        try:
            found = usable_nodes(self._api.list("/api/v1/nodes"), self._options)
        except Refused as error:
            if error.code != 403:
                raise
            found = [ClusterNode(self._machine, self._options.gpu_resource[0])]
        self._may_enter = may_enter_pods(self._api, self._namespace)
        self._nodes = {node.facts.name: node for node in found}
        self._nodes_due = time.monotonic() + NODES_SECONDS

    def _look_at(self, namespace: str, placements: Sequence[WatchedPods]) -> None:
        at = time.monotonic()
        found = self._api.list(f"/apis/batch/v1/namespaces/{namespace}/jobs", **_ours())
        jobs = {_placement(one) for one in found if not one["metadata"].get("deletionTimestamp")}
        pods: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for pod in self._api.list(f"/api/v1/namespaces/{namespace}/pods", **_ours()):
            pods[_placement(pod)].append(pod)
        for one in placements:
            name = one.spec.placement
            mine = tuple(sorted(pods[name], key=lambda pod: str(pod["metadata"]["creationTimestamp"])))
            one.job_deleted = one.job_seen and name not in jobs
            one.job_seen = one.job_seen or name in jobs
            if name in jobs or mine:
                one.handed_at = at
            elif one.handed_at is not None and one.handed_at < at:
                one.handed_at = None  # somebody deleted it
            one.found = FoundPods(at, mine, self._events(namespace, one, mine))
            records.note_image(one.directory, explain.image_digest(mine))
            self._give_up_in_vain(one)
            if one.spec.ranks:
                self._gather(one, mine)

    def _events(
        self, namespace: str, one: WatchedPods, pods: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], ...]:
        pod = unbegun(one, pods)
        if one.handed_at is None or records.owner(one.directory) or not explain.is_slow(pod, datetime.now(UTC)):
            return ()
        about = pod["metadata"]["name"] if pod else gang.job_names(one.spec)[0]
        return tuple(
            self._api.list(f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={about}")
        )

    def _give_up_in_vain(self, one: WatchedPods) -> None:
        """A pod that will never begin is not waited for."""
        pod = unbegun(one, one.found.pods) if one.found else None
        if pod is None or records.owner(one.directory):
            return
        problem = explain.why_never(pod, datetime.now(UTC))
        if problem and records.give_up(one.directory, problem):
            self._delete(one.spec)

    def _gather(self, one: WatchedPods, pods: Sequence[Mapping[str, Any]]) -> None:
        """All ranks of a distributed job begin, or none keeps its place."""
        directory, now = one.directory, time.monotonic()
        if gang.is_withdrawn(directory):
            one.paused_until = one.paused_until or now + self._options.gather_seconds
            if not pods and now > one.paused_until:
                gang.start_over(directory)
                one.paused_until = one.gathering_since = None
                self._hand_over(one)
            return
        if records.owner(directory) is not None:
            if gang.lost_ranks(directory, pods):
                records.ask_to_stop(directory)
            return
        waiting = gang.missing(directory)
        if not waiting or len(waiting) == len(one.spec.ranks):
            one.gathering_since = None
            return
        one.gathering_since = one.gathering_since or now
        if now > one.gathering_since + self._options.gather_seconds and gang.withdraw(directory):
            one.why_withdrawn = why_unclaimed(one)
            self._delete(one.spec)

    # Parts

    def _watch(self, directory: Path) -> WatchedPods | None:
        with self._lock:
            known = self._watched.get(directory.name)
            if known is None:
                spec = read_spec(directory)
                if spec is None:
                    return None
                known = self._watched[directory.name] = WatchedPods(directory, spec)
            return known

    def _delete(self, spec: Spec) -> None:
        for name in gang.job_names(spec):
            self._api.delete(f"{self._jobs(spec)}/{name}")
        if spec.ranks:
            self._delete_names(spec)

    def _delete_names(self, spec: Spec) -> None:
        try:
            self._api.delete(f"{self._services(spec)}/{job_name(spec.placement)}")
        except Refused as error:
            if error.code != 403:
                raise

    def _pod_that_runs(self, spec: Spec, rank: int) -> str | None:
        pods = f"/api/v1/namespaces/{self._space(spec)}/pods"
        of_rank = f",{RANK}={rank}" if spec.ranks else ""
        return pod_that_runs(self._api, pods, f"{_SELECTOR},{PLACEMENT}={spec.placement}{of_rank}")

    def _services(self, spec: Spec) -> str:
        return f"/api/v1/namespaces/{self._space(spec)}/services"

    def _jobs(self, spec: Spec) -> str:
        return f"/apis/batch/v1/namespaces/{self._space(spec)}/jobs"

    def _space(self, spec: Spec) -> str:
        return self._namespace.replace("{project}", as_name(spec.project))


def _claims_of(spec: Spec) -> dict[str, str]:
    """The claims of its workspaces, by where these are known to lie.

    OSError for one that is gone: Kubernetes would make an empty directory in its place.
    """
    claims: dict[str, str] = {}
    for source in (one.source for one in spec.mounts):
        path = Path(source)
        found = read_document(path.parent)
        if found is None and path.name == "tree" and path.parents[2].name == "workspaces" and not path.exists():
            raise OSError(f"the workspace at {path.parent} is no longer there")
        if found is not None and found.claim:
            claims[source] = found.claim
    return claims


def _ours() -> dict[str, str]:
    return {"labelSelector": _SELECTOR}


def _placement(found: Mapping[str, Any]) -> str:
    return str((found["metadata"].get("labels") or {}).get(PLACEMENT, ""))
