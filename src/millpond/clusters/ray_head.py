"""The head of a Ray cluster: it runs no tasks itself, takes clients with the token, and says what it lacks."""

from __future__ import annotations

import math
import time
from typing import Any

import ray
from ray._raylet import GcsClient

from .exposition import scrape
from .folder import ServiceFolder, Unusable, free_port
from .ray_environment import NODE_START_SECONDS
from .ray_node import RayNode, Stopping, job_of, resource_state

STATS_SECONDS = 1.0
METRICS_SECONDS = 15.0
# A worker that did nothing for so long may go.
IDLE_SECONDS = 5.0
# Of several hundred families, those that tell how the cluster is used.
_FAMILIES = ("ray_node_", "ray_resources", "ray_tasks", "ray_actors", "ray_object_store_", "ray_cluster_")
# Running and idle; one that drains takes nothing new.
_LIVING = (1, 3)


def run(folder: ServiceFolder) -> int:
    stopping = Stopping()
    ports = {name: free_port("") for name in ("port", "ray-client-server-port")}
    inner = {name: free_port("127.0.0.1") for name in ("dashboard-port", "metrics-export-port")}
    options = [f"--{name}={port}" for name, port in {**ports, **inner}.items()]
    node = RayNode(["--head", "--num-cpus=0", "--num-gpus=0", "--dashboard-host=127.0.0.1", *options])
    try:
        client = _connected(node, f"{node.address}:{ports['port']}", stopping)
        folder.ready(
            scheduler=f"{node.address}:{ports['port']}", client=f"ray://{node.address}:{ports['ray-client-server-port']}",
            dashboard=inner["dashboard-port"], version=ray.__version__,
        )  # fmt: skip
        return _watch(folder, node, client, inner["metrics-export-port"], stopping)
    finally:
        node.stop(0)


def _connected(node: RayNode, address: str, stopping: Stopping) -> Any:
    until = time.monotonic() + NODE_START_SECONDS
    while time.monotonic() < until and not stopping.is_set() and not node.ended.is_set():
        try:
            client = GcsClient(address)
            if resource_state(client).node_states:
                return client
        except Exception:  # noqa: BLE001 - whatever Ray raises while its head is not there yet
            time.sleep(0.2)
        time.sleep(0.1)
    raise Unusable("Ray's head did not start. Its log says why.")


def _watch(folder: ServiceFolder, node: RayNode, client: Any, metrics_port: int, stopping: Stopping) -> int:
    metrics: dict[str, float] = {}
    scraped = -METRICS_SECONDS
    while not stopping.is_set():
        if node.ended.is_set():
            folder.fail("Ray's head ended by itself.")
            return 1
        if time.monotonic() >= scraped + METRICS_SECONDS:
            scraped, metrics = time.monotonic(), _metrics(metrics_port)
        try:
            folder.stats(
                at=time.time(),
                **stats_of(resource_state(client), int(folder.told.get("worker_cpus") or 1)),
                metrics=metrics,
            )
        except Exception as error:  # noqa: BLE001 - Ray's own, while the head is busy
            print(f"no numbers now: {error}", flush=True)  # noqa: T201 - the log of the job
        stopping.wait(STATS_SECONDS)
    return 0


def stats_of(state: Any, worker_cpus: int) -> dict[str, Any]:
    """How many workers it would like: those that are busy, and as many as what waits would fill."""
    # The nodes beside drivers are jobs of their own.
    nodes = [one for one in state.node_states if job_of(one) and "node:__internal_head__" not in one.total_resources]
    workers = [_worker(one) for one in nodes]
    living = [one for one in workers if one.pop("lives")]
    waiting, needed = 0, 0.0
    for pending in state.pending_resource_requests:
        waiting += pending.count
        needed += pending.count * max(1.0 / worker_cpus, _share(pending.request.resources_bundle, worker_cpus))
    for group in state.pending_gang_resource_requests:
        for request in group.requests:
            waiting += 1
            needed += max(1.0 / worker_cpus, _share(request.resources_bundle, worker_cpus))
    busy = sum(one["tasks"] > 0 for one in living)
    return {
        "desired": busy + math.ceil(needed), "tasks": waiting + sum(one["tasks"] for one in living),
        "waiting": waiting, "workers": living,
    }  # fmt: skip


def _share(bundle: Any, worker_cpus: int) -> float:
    """How much of a worker a request takes."""
    return float(dict(bundle).get("CPU", 1.0)) / worker_cpus


def _worker(node: Any) -> dict[str, Any]:
    total, free = dict(node.total_resources), dict(node.available_resources)
    is_busy = node.idle_duration_ms < IDLE_SECONDS * 1000
    used = total.get("CPU", 0.0) - free.get("CPU", 0.0)
    store = total.get("object_store_memory", 0.0) - free.get("object_store_memory", 0.0)
    return {
        "name": job_of(node), "tasks": max(math.ceil(used), int(is_busy)), "bytes": int(store),
        "threads": int(total.get("CPU", 0)), "lives": node.status in _LIVING,
    }  # fmt: skip


def _metrics(port: int) -> dict[str, float]:
    try:
        return scrape(f"http://127.0.0.1:{port}/metrics", *_FAMILIES)
    except OSError:
        return {}
