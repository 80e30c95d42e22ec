"""The two servers that the suite compares: NVIDIA's Triton from a wheel, and ours. Both serve the same models."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from millpond.testing.daemons import free_port

REPOSITORY = Path(__file__).parent / "repository"
# Loaded when a server starts; the others are loaded and unloaded by cases.
LOADED = ("add_sub", "types", "fixed", "labels", "inspect", "failing", "versions", "slow", "batched", "packed")
TRITON_GLIBC = (2, 35)


@dataclass(frozen=True, slots=True)
class Server:
    """One of the servers, running; `name` is triton or millpond."""

    name: str
    process: subprocess.Popen[bytes]
    http: str
    grpc: str
    metrics: str

    def is_alive(self) -> bool:
        """True if the process runs. One that was just killed by its own fault may need a moment to be seen as gone."""
        host, _, port = self.http.partition(":")
        try:
            socket.create_connection((host, int(port))).close()
        except OSError:
            self.process.wait(30)
        return self.process.poll() is None


class UnavailableError(Exception):
    """Triton cannot run on this machine; the message says why."""


def find_triton(python: Path) -> Path:
    """Return the folder of packages that holds Triton, beside the Python of its environment."""
    found = platform.libc_ver()[1]
    if tuple(int(part) for part in found.split(".")[:2] if part) < TRITON_GLIBC:
        raise UnavailableError(f"Triton needs glibc 2.35, this machine has {found or 'another C library'}")
    packages = python.absolute().parent.parent / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    if not (packages / "pytriton" / "tritonserver").is_dir():
        raise RuntimeError(f"nvidia-pytriton is not installed beside {python}")
    return packages


@contextmanager
def running_triton(packages: Path, *options: str) -> Iterator[Server]:
    """Start tritonserver with the models of the suite."""
    with (
        tempfile.TemporaryDirectory(prefix="millpond-models-") as made,
        triton_process(packages, copied_repository(Path(made)), LOADED, *options) as running,
    ):
        yield running


@contextmanager
def triton_process(packages: Path, repository: Path, models: Sequence[str], *options: str) -> Iterator[Server]:
    """Start tritonserver with its Python backend on the CPU and free ports."""
    server = packages / "pytriton" / "tritonserver"
    with tempfile.TemporaryDirectory(prefix="millpond-triton-") as made:
        backend = Path(made) / "backends" / "python"
        stubs = server / "python_backend_stubs" / f"3.{sys.version_info.minor}"
        backend.mkdir(parents=True)
        for file in (*(server / "backends" / "python").glob("*triton_python*"), stubs / "triton_python_backend_stub"):
            shutil.copy2(file, backend / file.name)
        ports = [free_port() for _ in range(3)]
        command = [
            str(server / "bin" / "tritonserver"),
            f"--model-repository={repository}",
            f"--backend-directory={backend.parent}",
            "--model-control-mode=explicit",
            *(f"--load-model={model}" for model in models),
            *_triton_ports(ports),
            *options,
        ]
        libraries = f"{packages / 'nvidia_pytriton.libs'}:{sysconfig.get_config_var('LIBDIR')}"
        # The backend's Python finds its packages beside the first `python3` of the path.
        path = f"{packages.parents[2] / 'bin'}:{os.environ['PATH']}"
        environment = os.environ | {"LD_LIBRARY_PATH": libraries, "PATH": path}
        with _running("triton", command, environment, ports) as running:
            yield running


def _triton_ports(ports: list[int]) -> list[str]:
    http, grpc, metrics = ports
    return [
        f"--http-port={http}",
        f"--grpc-port={grpc}",
        f"--metrics-port={metrics}",
        "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1",
        "--allow-gpu-metrics=false",
    ]


@contextmanager
def running_millpond(*options: str) -> Iterator[Server]:
    """Start `python -m millpond.serve` with the same models on free ports."""
    with tempfile.TemporaryDirectory(prefix="millpond-serve-") as made:
        repository, ports = copied_repository(Path(made)), [free_port() for _ in range(3)]
        command = [
            *(sys.executable, "-m", "millpond.serve", "--repository", str(repository), "--host", "127.0.0.1"),
            *("--http-port", str(ports[0]), "--grpc-port", str(ports[1]), "--metrics-port", str(ports[2])),
            *("--drain-seconds", "0", "--explicit"),
            *options,
        ]
        with _running("millpond", command, dict(os.environ), ports) as running:
            for model in LOADED:
                httpx.post(f"http://{running.http}/v2/repository/models/{model}/load").raise_for_status()
            yield running


def copied_repository(directory: Path) -> Path:
    """A copy of the models: a server or a case may change it."""
    copy = directory / "repository"
    shutil.copytree(REPOSITORY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@contextmanager
def _running(name: str, command: list[str], environment: dict[str, str], ports: list[int]) -> Iterator[Server]:
    http, grpc, metrics = (f"127.0.0.1:{port}" for port in ports)
    log = Path(tempfile.gettempdir()) / f"conformance-{name}-{os.getpid()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_ready(process, f"http://{http}", log)
        yield Server(name, process, http, grpc, metrics)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    log.unlink()


def _wait_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/v2/health/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"{process.args[0]} did not become ready; the end of its log:\n{log.read_text()[-4000:]}")  # type: ignore[index]
