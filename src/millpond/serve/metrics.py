"""Prometheus metrics under Triton's names."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

from .core import ModelServer
from .served import LoadedVersion

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

Value = Callable[[LoadedVersion], int]
_FAMILIES: tuple[tuple[str, str, str, Value], ...] = (
    (
        "nv_inference_request_success",
        "counter",
        "Number of successful inference requests, all batch sizes",
        lambda served: served.statistics.success.count,
    ),
    (
        "nv_inference_count",
        "counter",
        "Number of inferences performed (does not include cached requests)",
        lambda served: served.statistics.inference_count,
    ),
    (
        "nv_inference_exec_count",
        "counter",
        "Number of model executions performed (does not include cached requests)",
        lambda served: served.statistics.execution_count,
    ),
    (
        "nv_inference_request_duration_us",
        "counter",
        "Cumulative inference request duration in microseconds",
        lambda served: served.statistics.success.ns // 1000,
    ),
    (
        "nv_inference_queue_duration_us",
        "counter",
        "Cumulative time of requests in the queue in microseconds",
        lambda served: served.statistics.queue.ns // 1000,
    ),
    (
        "nv_inference_compute_input_duration_us",
        "counter",
        "Cumulative time of making inputs in microseconds",
        lambda served: served.statistics.compute_input.ns // 1000,
    ),
    (
        "nv_inference_compute_infer_duration_us",
        "counter",
        "Cumulative time of computing in microseconds",
        lambda served: served.statistics.compute_infer.ns // 1000,
    ),
    (
        "nv_inference_compute_output_duration_us",
        "counter",
        "Cumulative time of cutting outputs in microseconds",
        lambda served: served.statistics.compute_output.ns // 1000,
    ),
    (
        "nv_inference_pending_request_count",
        "gauge",
        "Number of requests that wait for an instance of the model",
        lambda served: served.pending,
    ),
)


def prometheus(server: ModelServer) -> bytes:
    served = server.served()
    for each in served:
        each.statistics.add_up()
    lines = [line for family in _FAMILIES for line in _family(served, *family)]
    lines += _failures(served)
    lines += [
        "# HELP nv_cpu_memory_used_bytes Resident memory of this server at its most",
        "# TYPE nv_cpu_memory_used_bytes gauge",
        f"nv_cpu_memory_used_bytes {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}",
        "",
    ]
    return "\n".join(lines).encode()


def _family(served: list[LoadedVersion], name: str, kind: str, text: str, value: Value) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for each in served:
        yield f"{name}{{{_labels(each)}}} {value(each)}"


def _failures(served: list[LoadedVersion]) -> Iterator[str]:
    name = "nv_inference_request_failure"
    yield f"# HELP {name} Number of failed inference requests, all batch sizes"
    yield f"# TYPE {name} counter"
    for each in served:
        for reason, count in each.statistics.failures.items():
            yield f'{name}{{{_labels(each)},reason="{reason}"}} {count}'


def _labels(served: LoadedVersion) -> str:
    name = served.config.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'model="{name}",version="{served.version}"'
