"""The same three steps in Metaflow and Prefect, each in a virtual environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Measured, run

_PINNED = {
    "metaflow": ["metaflow==2.19.39"],
    # This version does not work with later ones of what it is built on.
    "prefect": ["prefect==3.6.0", "fastapi==0.115.14"],
}

# A process for each step, which Metaflow starts by itself; what they pass on is an artifact of its own store.
_METAFLOW = """\
from metaflow import FlowSpec, step


class Three(FlowSpec):
    @step
    def start(self):
        self.numbers = list(range(1000))
        self.next(self.square)

    @step
    def square(self):
        self.squares = [n * n for n in self.numbers]
        self.next(self.end)

    @step
    def end(self):
        self.total = sum(self.squares)
        assert self.total == 332833500


if __name__ == "__main__":
    Three()
"""

# Prefect runs steps in one process unless it is told otherwise: each one starts its own here.
_PREFECT = """\
import json
import subprocess
import sys
from prefect import flow, task

CODES = [
    "import json; print(json.dumps(list(range(1000))))",
    "import json, sys; print(json.dumps([n * n for n in json.load(sys.stdin)]))",
    "import json, sys; print(sum(json.load(sys.stdin)))",
]


@task
def one(code, given):
    return subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True).stdout


@flow
def three():
    given = ""
    for code in CODES:
        given = one(code, given)
    assert json.loads(given) == 332833500


if __name__ == "__main__":
    three()
"""


class FlowPeer:
    """One of the two; installed at the first use."""

    def __init__(self, name: str, environments: Path, work: Path) -> None:
        self._python = _install(name, environments / name)
        self._script = work / f"three_{name}.py"
        self._script.write_text(_METAFLOW if name == "metaflow" else _PREFECT)
        self._words = ["run"] if name == "metaflow" else []
        self._work = work

    def run(self) -> Measured:
        home = {
            "HOME": str(self._work), "USERNAME": "bench", "METAFLOW_DATASTORE_SYSROOT_LOCAL": str(self._work),
            "PREFECT_HOME": str(self._work / "prefect"), "PREFECT_LOGGING_LEVEL": "ERROR",
        }  # fmt: skip
        return run([self._python, self._script, *self._words], cwd=self._work, env=home)


def _install(name: str, environment: Path) -> Path:
    python = environment / "bin" / "python"
    if not _has(python, name):
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *_PINNED[name]], check=True, stderr=subprocess.DEVNULL)
    return python


def _has(python: Path, name: str) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", f"import {name}"], check=False, capture_output=True).returncode == 0
