"""A worker of a Ray cluster. On SIGTERM Ray drains it first: its tasks end, and it takes nothing new."""

from __future__ import annotations

import os
import time
from typing import Any

from ray._raylet import GcsClient

from .folder import ServiceFolder, cpus, memory_bytes
from .ray_environment import DRAIN_SECONDS, NODE_START_SECONDS
from .ray_node import RayNode, Stopping, job_of, resource_state

LOOK_SECONDS = 0.5
# Of what the job reserves: the rest is for objects and Ray itself.
_MEMORY_PART = 0.6
_DEAD = 2


def run(folder: ServiceFolder) -> int:
    stopping = Stopping()
    memory = memory_bytes()
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
    options = [f"--address={folder.scheduler}", f"--num-cpus={cpus()}", f"--num-gpus={len(visible)}"]
    options += [f"--memory={int(memory * _MEMORY_PART)}"] if memory else []
    node = RayNode(options)
    try:
        return _serve(folder, node, stopping)
    finally:
        node.stop(DRAIN_SECONDS)


def _serve(folder: ServiceFolder, node: RayNode, stopping: Stopping) -> int:
    client, joined = GcsClient(folder.scheduler), False
    until = time.monotonic() + NODE_START_SECONDS
    while not stopping.is_set():
        if node.ended.is_set():
            folder.fail("Ray ended by itself: the head is gone, or refused this worker.")
            return 1
        if folder.has_moved():
            folder.fail("The cluster has a new head: joining that one.")
            return 1
        if not joined and _is_known(client):
            joined = True
            folder.ready(worker=node.address)
        if not joined and time.monotonic() > until:
            folder.fail("Ray's head does not know this worker.")
            return 1
        stopping.wait(LOOK_SECONDS)
    return 0


def _is_known(client: Any) -> bool:
    """True if the head has this job's node among those that live."""
    try:
        state = resource_state(client)
    except Exception:  # noqa: BLE001 - whatever Ray raises while the head is away
        return False
    name = os.environ["MILL_JOB_NAME"]
    return any(job_of(one) == name and one.status != _DEAD for one in state.node_states)
