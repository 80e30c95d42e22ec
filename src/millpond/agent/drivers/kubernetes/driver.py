"""The Kubernetes driver: every placement is a Job with one pod, in which the keeper is the first process."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL
from types import MappingProxyType
from typing import Any

from millpond.agent import far_archive
from millpond.agent.drivers import (
    Capabilities,
    Exited,
    Lost,
    NotStarted,
    Pending,
    Reason,
    Running,
    Status,
    records,
)
from millpond.agent.drivers.kubernetes import explain
from millpond.agent.drivers.kubernetes.api import KubeApi, Refused
from millpond.agent.drivers.kubernetes.manifest import KEEPER, MANAGED, PLACEMENT, job, job_name
from millpond.agent.drivers.kubernetes.nodes import ClusterNode, usable_nodes
from millpond.agent.drivers.kubernetes.options import KubernetesOptions, as_name
from millpond.agent.drivers.kubernetes.reaching import PodStream, may_enter_pods, run_in_pod
from millpond.agent.spec import Spec, read_spec
from millpond.model.quantity import format_bytes
from millpond.wire.agent import NodeFacts

LOOK_SECONDS = 1.0
NODES_SECONDS = 15.0
# For how long a pod may be over before its keeper's last words are taken for missing: file servers show them late.
WORDS_SECONDS = 5.0
LAST_WORDS_SECONDS = 60.0
# Beyond validity and grace, before a pod that nobody has seen end is taken to have ended.
MARGIN_SECONDS = 60.0

_SELECTOR = ",".join(f"{key}={value}" for key, value in MANAGED.items())


@dataclass(frozen=True, slots=True)
class _Found:
    """What the last look saw of one placement, by the monotonic clock."""

    at: float
    pods: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class _Watched:
    """A placement that is not forgotten. `handed_at`: when its Job was last made or seen, by the monotonic clock."""

    directory: Path
    spec: Spec
    handed_at: float | None = None
    found: _Found | None = None
    # Since when all its pods are over, or gone, without a word of the keeper.
    silent_since: float | None = None


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
        self._watched: dict[str, _Watched] = {}
        self._lock = threading.Lock()

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
            gpu_fractions="none",  # a pod gets whole devices
            shared_trust=False,
            exec=self._may_enter,
            ports=self._may_enter,
        )

    def nodes(self) -> Sequence[NodeFacts]:
        return [node.facts for node in self._nodes.values()]

    def look(self) -> None:
        self._look_at_nodes()
        with self._lock:
            watched = list(self._watched.values())
        spaces: dict[str, list[_Watched]] = defaultdict(list)
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
        spec = watched.spec
        shutil.copyfile(records.KEEPER, directory / KEEPER)
        (directory / far_archive.NAME).write_bytes(far_archive.far_archive())
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
        )
        self._api.create(self._jobs(spec), body)
        watched.handed_at = time.monotonic()

    def status(self, directory: Path) -> Status:
        watched = self._watch(directory)
        if watched is None:
            return NotStarted()
        # Read after the look: a keeper writes its last words before its pod is over.
        ended = records.exited(directory)
        if ended is not None:
            return self._ended(watched, ended)
        if records.owner(directory) is None:
            return self._unclaimed(watched)
        started_at = records.started_at(directory)
        problem = self._lost(watched)
        return Lost(problem, started_at) if problem else Running(started_at)

    def stop(self, directory: Path) -> None:
        watched = self._watch(directory)
        if watched is None:
            return
        records.ask_to_stop(directory)
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

    async def far_end(self, directory: Path) -> PodStream:
        """A program in the pod's container, beside the keeper."""
        watched = self._watch(directory)
        pods = watched.found.pods if watched is not None and watched.found is not None else ()
        pod = next((one for one in reversed(pods) if not explain.is_over(one)), None)
        if watched is None or pod is None:
            raise OSError("The job has no pod that runs.")
        path = f"/api/v1/namespaces/{self._space(watched.spec)}/pods/{pod['metadata']['name']}"
        python = [self._options.python, "-I", "-S", "-B", str(directory / far_archive.NAME), str(directory)]
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

    def _look_at(self, namespace: str, placements: Sequence[_Watched]) -> None:
        at = time.monotonic()
        jobs = {_placement(one) for one in self._api.list(f"/apis/batch/v1/namespaces/{namespace}/jobs", **_ours())}
        pods: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for pod in self._api.list(f"/api/v1/namespaces/{namespace}/pods", **_ours()):
            pods[_placement(pod)].append(pod)
        for one in placements:
            name = one.spec.placement
            mine = tuple(sorted(pods[name], key=lambda pod: str(pod["metadata"]["creationTimestamp"])))
            if name in jobs or mine:
                one.handed_at = at
            elif one.handed_at is not None and one.handed_at < at:
                one.handed_at = None  # somebody deleted it
            one.found = _Found(at, mine, self._events(namespace, one, mine))
            self._give_up_in_vain(one)

    def _events(
        self, namespace: str, one: _Watched, pods: Sequence[Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], ...]:
        pod = pods[-1] if pods else None
        if one.handed_at is None or records.owner(one.directory) or not explain.is_slow(pod, datetime.now(UTC)):
            return ()
        about = pod["metadata"]["name"] if pod else job_name(one.spec.placement)
        return tuple(
            self._api.list(f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={about}")
        )

    def _give_up_in_vain(self, one: _Watched) -> None:
        """A pod that will never begin is not waited for."""
        if one.found is None or not one.found.pods or records.owner(one.directory):
            return
        problem = explain.why_never(one.found.pods[-1], datetime.now(UTC))
        if problem and records.give_up(one.directory, problem):
            self._delete(one.spec)

    # What it means

    def _unclaimed(self, one: _Watched) -> Status:
        if one.handed_at is None:
            return NotStarted()
        found = one.found or _Found(0.0)
        return Pending(explain.why_pending(found.pods[-1] if found.pods else None, found.events))

    def _ended(self, one: _Watched, ended: Exited) -> Status:
        """A command that was killed, nobody says by whom: its container may have run out of memory."""
        if ended.signal != SIGKILL or ended.reason is not None:
            return ended
        pods = one.found.pods if one.found else ()
        if any(not explain.is_over(pod) for pod in pods) and self._silence(one) < WORDS_SECONDS:
            return Running(ended.started_at)
        if not any(explain.how_it_ended(pod).reason == "OOMKilled" for pod in pods):
            return ended
        limit = f" of {format_bytes(one.spec.memory_bytes)}" if one.spec.memory_bytes else ""
        return replace(ended, reason=Reason.OUT_OF_MEMORY, problem=f"The job used more memory than its limit{limit}.")

    def _lost(self, one: _Watched) -> str | None:
        """What became of a keeper that claimed it and has not written how it ended; None while it may be at work."""
        if one.found is None or any(not explain.is_over(pod) for pod in one.found.pods):
            one.silent_since = None
            return None
        silence = self._silence(one)
        pods = one.found.pods
        if pods:
            # A keeper that left by itself has written its last words; one that was killed has not.
            patience = LAST_WORDS_SECONDS if explain.how_it_ended(pods[-1]).exit_code == 0 else WORDS_SECONDS
        else:
            # Deleted by somebody, perhaps while its node is away: a keeper that still sees this directory ends the
            # command now, and one that does not ends it when its validity is over.
            records.ask_to_stop(one.directory)
            patience = one.spec.valid_seconds + one.spec.grace_seconds + MARGIN_SECONDS
        return explain.why_lost(pods) if silence > patience else None

    def _silence(self, one: _Watched) -> float:
        now = time.monotonic()
        if one.silent_since is None:
            one.silent_since = now
        return now - one.silent_since

    # Parts

    def _watch(self, directory: Path) -> _Watched | None:
        with self._lock:
            known = self._watched.get(directory.name)
            if known is None:
                spec = read_spec(directory)
                if spec is None:
                    return None
                known = self._watched[directory.name] = _Watched(directory, spec)
            return known

    def _delete(self, spec: Spec) -> None:
        self._api.delete(f"{self._jobs(spec)}/{job_name(spec.placement)}")

    def _jobs(self, spec: Spec) -> str:
        return f"/apis/batch/v1/namespaces/{self._space(spec)}/jobs"

    def _space(self, spec: Spec) -> str:
        return self._namespace.replace("{project}", as_name(spec.project))


def _ours() -> dict[str, str]:
    return {"labelSelector": _SELECTOR}


def _placement(found: Mapping[str, Any]) -> str:
    return str((found["metadata"].get("labels") or {}).get(PLACEMENT, ""))
