"""Load on a model server: wrk with one body for ever, a loop of gRPC calls, and the processor time a server takes."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import numpy as np
import psutil
from tritonclient.grpc import service_pb2

from benchmarks.serving_models import Floats

WARM_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Body:
    """A request as wrk sends it."""

    content: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Load:
    """What came of a run: requests per second, the median in µs, the servers' processor time per request in µs."""

    per_second: float
    p50_us: float
    cpu_us: float


def json_body(values: Floats) -> Body:
    tensor = {"name": "x", "shape": list(values.shape), "datatype": "FP32", "data": values.ravel().tolist()}
    content = json.dumps({"inputs": [tensor]}, separators=(",", ":")).encode()
    return Body(content, {"Content-Type": "application/json"})


def binary_body(values: Floats) -> Body:
    """As tritonclient sends it: bytes both ways."""
    raw = values.tobytes()
    tensor = {
        "name": "x",
        "shape": list(values.shape),
        "datatype": "FP32",
        "parameters": {"binary_data_size": len(raw)},
    }
    wanted = [{"name": "y", "parameters": {"binary_data": True}}]
    head = json.dumps({"inputs": [tensor], "outputs": wanted}, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}
    return Body(head + raw, headers)


def run_wrk(url: str, body: Body, *, clients: int, seconds: float, servers: list[int]) -> Load:
    """Post the body over and over; every answer must be 200."""
    with tempfile.TemporaryDirectory() as made:
        content, script = Path(made) / "body", Path(made) / "post.lua"
        content.write_bytes(body.content)
        headers = "\n".join(f'wrk.headers["{key}"] = "{value}"' for key, value in body.headers.items())
        script.write_text(
            f'wrk.method = "POST"\nlocal file = io.open("{content}", "rb")\nwrk.body = file:read("*a")\nfile:close()\n'
            f"{headers}\n"
        )
        command = ["wrk", "-t1", f"-c{clients}", "--latency", "-s", str(script)]
        _wrk([*command, f"-d{WARM_SECONDS:.0f}s", url])
        before = cpu_seconds(servers)
        output = _wrk([*command, f"-d{seconds:.0f}s", url])
        spent = cpu_seconds(servers) - before
    requests = int(_found(r"(\d+) requests in", output))
    return Load(float(_found(r"Requests/sec:\s+([\d.]+)", output)), _p50(output), spent / requests * 1e6)


def run_grpc(address: str, model: str, values: Floats, *, seconds: float, servers: list[int]) -> Load:
    """One call after the other."""
    request = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=[values.tobytes()])
    request.inputs.add(name="x", datatype="FP32", shape=values.shape)
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer", request_serializer=lambda message: message.SerializeToString()
        )
        _calls(call, request, WARM_SECONDS)
        before = cpu_seconds(servers)
        times = _calls(call, request, seconds)
        spent = cpu_seconds(servers) - before
    return Load(len(times) / sum(times), float(np.median(times)) * 1e6, spent / len(times) * 1e6)


def run_pairs(url: str, body: Body, raw: Callable[[], object], count: int) -> tuple[float, float]:
    """Medians in µs of the request and of what it asks for done here, in turn: others disturb both alike."""
    target = urlsplit(url)
    head = [f"POST {target.path} HTTP/1.1", f"Host: {target.netloc}", f"Content-Length: {len(body.content)}"]
    head += [f"{key}: {value}" for key, value in body.headers.items()]
    message = "\r\n".join([*head, "", ""]).encode() + body.content
    served, alone = [], []
    with socket.create_connection((target.hostname, target.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            began = time.perf_counter()
            connection.sendall(message)
            if not connection.recv(65536).startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"{url} refused the request")
            between = time.perf_counter()
            raw()
            served.append(between - began)
            alone.append(time.perf_counter() - between)
    warm = count // 10
    return float(np.median(served[warm:])) * 1e6, float(np.median(alone[warm:])) * 1e6


def _calls(call: grpc.UnaryUnaryMultiCallable, request: object, seconds: float) -> list[float]:
    times = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        call(request)
        times.append(time.perf_counter() - began)
    return times


def cpu_seconds(servers: list[int]) -> float:
    """Processor time so far of these processes and all of theirs."""
    spent = 0.0
    for pid in servers:
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                spent += times.user + times.system
    return spent


def memory_mb(pid: int) -> float:
    """Resident memory that is not shared with others, of a process and all of its."""
    tree = (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))
    return sum(process.memory_info().rss for process in tree) / 1e6


def _wrk(command: list[str]) -> str:
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"{' '.join(command)}:\n{output}")
    return output


def _found(pattern: str, output: str) -> str:
    match = re.search(pattern, output)
    if match is None:
        raise RuntimeError(f"wrk did not say {pattern}:\n{output}")
    return match[1]


def _p50(output: str) -> float:
    match = re.search(r"50%\s+([\d.]+)(us|ms|s)", output)
    if match is None:
        raise RuntimeError(f"wrk did not tell the median:\n{output}")
    return float(match[1]) * {"us": 1.0, "ms": 1e3, "s": 1e6}[match[2]]
