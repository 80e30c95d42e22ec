"""A real S3 server for tests: SeaweedFS from its wheel, in a directory and on ports of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import urllib3

from millpond.testing.daemons import find_program, free_port

# Without an identity file SeaweedFS accepts any keys, but requests must be signed with some.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret"}
_READY_SECONDS = 60.0
# Each port has a gRPC twin this far above it.
_TWIN = 10000


@dataclass(frozen=True, slots=True)
class Seaweed:
    endpoint: str
    bucket: str

    def url(self, prefix: str = "") -> str:
        """The lake URL of a prefix in the bucket; `CREDENTIALS` belong into the environment."""
        return f"s3://{self.bucket}/{prefix}?endpoint={quote(self.endpoint, safe='')}&path_style=true"


def find_weed() -> Path | None:
    return find_program("weed")


@contextmanager
def running_seaweed(
    weed: Path, directory: Path, bucket: str = "lake", *, address: str = "127.0.0.1"
) -> Iterator[Seaweed]:
    """A server at `address` that accepts writes to `bucket`; it ends with the block."""
    master, volume, filer, s3 = _free_ports(4)
    arguments = [
        "server", f"-dir={directory}", f"-ip={address}", f"-ip.bind={address}", f"-master.port={master}",
        f"-volume.port={volume}", "-filer", f"-filer.port={filer}", "-s3", f"-s3.port={s3}", "-volume.max=100",
        "-master.volumeSizeLimitMB=1024", "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    # It would take keys of the environment for its own, and refuse everybody else.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with open(directory / "seaweed.log", "wb") as log:
        process = subprocess.Popen(
            [weed, f"-logdir={directory}", *arguments], stdout=log, stderr=log, cwd=directory, env=environment
        )
    try:
        seaweed = Seaweed(endpoint=f"http://{address}:{s3}", bucket=bucket)
        _wait_until_writable(seaweed, process, directory / "seaweed.log")
        yield seaweed
    finally:
        process.kill()  # asked politely it takes ten seconds, and its data goes with the test
        process.wait()


def _wait_until_writable(seaweed: Seaweed, process: subprocess.Popen[bytes], log: Path) -> None:
    """The port answers long before the first write succeeds."""
    pool = urllib3.PoolManager(retries=False, timeout=5.0)
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if _put(pool, f"{seaweed.endpoint}/{seaweed.bucket}") and _put(
            pool, f"{seaweed.endpoint}/{seaweed.bucket}/ready"
        ):
            pool.request("DELETE", f"{seaweed.endpoint}/{seaweed.bucket}/ready")
            pool.clear()
            return
        time.sleep(0.1)  # polling a foreign process: there is nothing to wait on
    raise RuntimeError(f"SeaweedFS did not become ready:\n{log.read_text(errors='replace')[-2000:]}")


def _put(pool: urllib3.PoolManager, url: str) -> bool:
    try:
        return pool.request("PUT", url, body=b"").status in (200, 409)
    except urllib3.exceptions.HTTPError:
        return False


def _free_ports(count: int) -> list[int]:
    ports: list[int] = []
    while len(ports) < count:
        port = free_port()
        if port not in ports and port + _TWIN < 65536 and _is_free(port + _TWIN):
            ports.append(port)
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
