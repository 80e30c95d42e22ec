"""The node of Ray that a driver needs beside it: it runs no tasks, and is no worker of the cluster."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ray._raylet import GcsClient

from .folder import ServiceFolder, Unusable
from .ray_environment import NODE_START_SECONDS
from .ray_node import RayNode, label_of, resource_state

LOOK_SECONDS = 0.2
# The label of the nodes of drivers, with a value of each one's own.
LABEL = "millpond-driver"


@contextmanager
def beside(folder: ServiceFolder, stopping: threading.Event) -> Iterator[str | None]:
    """The id of a node that lasts as long as the block; None if the job is to end. Unusable if it cannot join."""
    mark = secrets.token_hex(8)
    node = RayNode([f"--address={folder.scheduler}", "--num-cpus=0", "--num-gpus=0"], {LABEL: mark}, quiet=True)
    try:
        yield _joined(folder, node, mark, stopping)
    finally:
        node.stop(0)


def _joined(folder: ServiceFolder, node: RayNode, mark: str, stopping: threading.Event) -> str | None:
    until = time.monotonic() + NODE_START_SECONDS
    client: Any = None
    while time.monotonic() < until and not node.ended.is_set():
        if stopping.is_set():
            return None
        try:
            client = client or GcsClient(folder.scheduler)
            known = resource_state(client).node_states
        except Exception:  # noqa: BLE001 - whatever Ray raises while the head is away
            known = []
        found = [one for one in known if label_of(one, LABEL) == mark]
        if found:
            return bytes(found[0].node_id).hex()
        stopping.wait(LOOK_SECONDS)
    if not node.ended.is_set():
        raise Unusable(
            f"This job's node of Ray did not join the cluster at {folder.scheduler} within {NODE_START_SECONDS} s. The "
            "machine may be busy: submit the job again."
        )
    raise Unusable(
        f"This job could not join the Ray cluster at {folder.scheduler}. The lines above say why: Python and Ray must "
        "have the versions that the cluster has."
    )
