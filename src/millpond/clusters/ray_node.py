"""What head and workers of a Ray cluster have in common: their process, its environment and its short directory."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ray.autoscaler.v2.sdk import get_cluster_resource_state

from .folder import Unusable, memory_bytes, own_address, spill_directory

# The label by which a node of the cluster is known to be a job's.
LABEL = "millpond-job"
# Sockets lie deep below Ray's directory, and the kernel takes 107 bytes of their path.
_SHORT = Path("/tmp")
_PREFIX = "mpr-"
# Of the memory that a job reserves, as Ray does by default; and where it reserves none.
_STORE_PART = 0.3
_STORE_BYTES = 1 << 30
_LEAST_STORE_BYTES = 80 << 20


class Stopping(threading.Event):
    """Set by SIGTERM. Ray's own processes hear of it from this one alone."""

    def __init__(self) -> None:
        super().__init__()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, frame: self.set())


class RayNode:
    """`ray start --block` and what it started."""

    def __init__(self, options: list[str], labels: Mapping[str, str] | None = None, *, quiet: bool = False) -> None:
        """`quiet`: only what goes wrong is said."""
        if shutil.which("bash") is None:
            raise Unusable("Ray starts its workers with bash, which is missing here: use an image that has it.")
        self.address = own_address()
        self._link = _short_link()
        told = ",".join(f"{name}={value}" for name, value in (labels or {LABEL: os.environ["MILL_JOB_NAME"]}).items())
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats",
            f"--node-ip-address={self.address}", f"--temp-dir={self._link}",
            f"--object-spilling-directory={spill_directory()}", f"--object-store-memory={_store_bytes()}",
            "--dashboard-agent-listen-port=0", f"--labels={told}", *options,
        ]  # fmt: skip
        # In a process group of its own, as signals for a job's command are not for Ray; in the session of the job, as
        # Ray's processes overwrite the environment by which they would be known as the job's.
        self._process = subprocess.Popen(
            command, preexec_fn=os.setpgrp, stdout=subprocess.DEVNULL if quiet else None
        )  # fmt: skip
        self.ended = threading.Event()
        threading.Thread(target=self._wait, daemon=True).start()

    def stop(self, drain_seconds: float) -> None:
        """SIGTERM to Ray, which drains and ends all of its processes; the keeper ends whatever does not listen."""
        self._process.terminate()
        self.ended.wait(drain_seconds + 10)
        with suppress(OSError):
            self._link.unlink()

    def _wait(self) -> None:
        self._process.wait()
        self.ended.set()


def resource_state(client: Any) -> Any:
    """Nodes and pending requests, as the head knows them. Raises what Ray raises while it is away."""
    return get_cluster_resource_state(client)


def job_of(node: Any) -> str:
    """The name of the job that a node is; empty for one that is none."""
    return label_of(node, LABEL)


def label_of(node: Any, label: str) -> str:
    """Empty for a node without it."""
    return str(dict(node.labels).get(label, ""))


def _short_link() -> Path:
    """Leads to a directory of the job's own. One that a killed attempt left behind is replaced by the next."""
    target = Path(os.environ["TMPDIR"]) / "ray"
    target.mkdir(mode=0o700, exist_ok=True)
    for name in (os.environ["MILL_JOB_ID"], secrets.token_hex(5)):
        link = _SHORT / f"{_PREFIX}{name}"
        try:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        except OSError:  # somebody else's
            continue
        return link
    raise Unusable(
        f"Cannot make a link in {_SHORT}, where Ray has its sockets: this job's account must be able to write there."
    )


def _store_bytes() -> int:
    reserved = memory_bytes()
    return max(_LEAST_STORE_BYTES, int(reserved * _STORE_PART)) if reserved else _STORE_BYTES
