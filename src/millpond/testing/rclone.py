"""A second S3 server for tests: `rclone serve s3` on a directory. It silently ignores conditional writes."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from millpond.testing.daemons import find_program, free_port
from millpond.testing.waiting import wait_until

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret"}
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Rclone:
    endpoint: str
    bucket: str

    def url(self, prefix: str = "") -> str:
        """The lake URL of a prefix in the bucket; `CREDENTIALS` belong into the environment."""
        return f"s3://{self.bucket}/{prefix}?endpoint={quote(self.endpoint, safe='')}&path_style=true"


def find_rclone() -> Path | None:
    return find_program("rclone")


@contextmanager
def running_rclone(rclone: Path, directory: Path, bucket: str = "lake") -> Iterator[Rclone]:
    """A server whose `bucket` is a folder of `directory`; it ends with the block."""
    (directory / bucket).mkdir(parents=True)
    port = free_port()
    keys = f"{CREDENTIALS['AWS_ACCESS_KEY_ID']},{CREDENTIALS['AWS_SECRET_ACCESS_KEY']}"
    options = ["--config", "", "--addr", f"127.0.0.1:{port}", "--auth-key", keys]
    process = subprocess.Popen(
        [rclone, "serve", "s3", *options, directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: _answers(port, process), within=_READY_SECONDS, what="rclone's readiness")
        yield Rclone(endpoint=f"http://127.0.0.1:{port}", bucket=bucket)
    finally:
        process.kill()
        process.wait()


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "rclone ended by itself"
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
