"""The servers that the benchmark of serving compares, each started when it is its turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import onnx
from tests.conformance.servers import find_triton, triton_process

from benchmarks.serving_models import write_mlserver_folder, write_repository, write_triton_repository
from millpond.testing.daemons import free_port

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Served:
    """Where the model `small` is reached, the processes that serve it, and how long they took to be ready."""

    url: str
    pids: list[int]
    grpc: str = ""
    ready_seconds: float = 0.0


@contextmanager
def millpond(models: dict[str, onnx.ModelProto]) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as made:
        root = write_repository(Path(made) / "models", models)
        ready = Path(made) / "ready.json"
        command = [sys.executable, "-m", "millpond.serve", "--repository", str(root), "--ready-file", str(ready)]
        command += ["--http-port", "0", "--grpc-port", "0", "--drain-seconds", "0"]
        began = time.perf_counter()
        with _process(command) as process:
            _wait(ready.exists, process)
            told = json.loads(ready.read_text())
            http, grpc = (told[key].removeprefix("tcp:") for key in ("http", "grpc"))
            yield Served(f"http://{http}", [process.pid], grpc, time.perf_counter() - began)


@contextmanager
def routed(models: dict[str, onnx.ModelProto], log: str = "none") -> Iterator[Served]:
    """A router before a replica, as a site has them."""
    with millpond(models) as replica, tempfile.TemporaryDirectory(prefix="bench-router-") as made:
        config, port = Path(made) / "router.json", free_port()
        served = {"model": "small", "version": 1}
        endpoint = {
            "name": "small",
            "id": "small",
            "public": True,
            "versions": [served | {"weight": 100}],
            "replicas": [served | {"id": "r", "http": replica.url.replace("http://", "tcp:"), "state": "ready"}],
            "log": {"level": log, "sample": 1.0},
        }
        document = {"schema": "millpond.router/1", "project": "bench", "site": "here", "endpoints": [endpoint]}
        config.write_text(json.dumps(document))
        command = [sys.executable, "-m", "millpond.serve.router", "--config", str(config), "--state-dir", made]
        with _process([*command, "--host", "127.0.0.1", "--http-port", str(port), "--drain-seconds", "1"]) as process:
            url = f"http://127.0.0.1:{port}"
            _wait(lambda: _answers(f"{url}/v2/models/small/ready"), process)
            yield Served(url, [process.pid, *replica.pids])


@contextmanager
def constant() -> Iterator[Served]:
    command = [sys.executable, "-m", "benchmarks.constant_server"]
    with _process(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield Served(f"http://127.0.0.1:{int(process.stdout.readline())}", [process.pid])


@contextmanager
def triton(python: Path, model: onnx.ModelProto) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="bench-triton-") as made:
        repository = write_triton_repository(Path(made) / "models", "small", model)
        with triton_process(find_triton(python), repository, ["small"]) as server:
            yield Served(f"http://{server.http}", [server.process.pid], server.grpc)


@contextmanager
def mlserver(python: Path, model: onnx.ModelProto, workers: int | None = None) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="bench-mlserver-") as made:
        ports = [free_port() for _ in range(3)]
        folder = write_mlserver_folder(Path(made) / "model", "small", model, ports, workers)
        command = [str(python.absolute().parent / "mlserver"), "start", "."]
        with _process(command, cwd=folder) as process:
            url = f"http://127.0.0.1:{ports[0]}"
            _wait(lambda: _answers(f"{url}/v2/models/small/ready"), process)
            yield Served(url, [process.pid])


@contextmanager
def _process(
    command: list[str], *, cwd: Path | None = None, stdout: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, cwd=cwd or HERE.parent, stdout=stdout, stderr=subprocess.DEVNULL, env=os.environ
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def _wait(is_ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 90
    while not is_ready():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{process.args!r} did not become ready")
        time.sleep(0.01)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
