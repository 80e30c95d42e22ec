"""The list of cases and differences for docs/reference/triton.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.conformance.comparing import Comparison
from tests.conformance.known import KNOWN

TARGET = Path(__file__).parents[2] / "docs" / "reference" / "triton.md"
GROUPS = {
    "http_describe": "health, metadata, configuration, readiness, statistics, index, metrics over HTTP",
    "http_infer": "inference over HTTP: JSON and binary tensors mixed, compression, ids, parameters, classes",
    "http_types": "every datatype as JSON and binary, both ways, with its bounds",
    "http_errors": "bad requests over HTTP",
    "http_client": "every method of `tritonclient.http`, also asynchronous",
    "grpc_calls": "every call of `GRPCInferenceService` but inference, raw and by `tritonclient.grpc`",
    "grpc_infer": "inference over gRPC: raw and typed contents, parameters, classes, compression, bad requests",
    "grpc_stream": "`ModelStreamInfer`, raw and by the client's stream",
    "shared": "shared memory over both protocols",
    "http_control": "loading and unloading, files and configurations in the request, trace and log settings",
    "queueing": "batches of several requests, full queues, timeouts",
}
INTRODUCTION = """# Triton's protocol: what is the same, what differs

`make conformance-triton` starts NVIDIA's own Triton 2.51 (from the wheel `nvidia-pytriton`, on the CPU, with its Python
backend) and `python -m millpond.serve` with the same models. It asks both the same with `tritonclient` 2.73 and raw
requests, and compares statuses, headers, bodies and what models are told. Times and the wording of errors may differ.
A difference that is not in the list below fails it. `make test` asks the same of Millpond alone, against answers
recorded from Triton. Written by `make conformance-triton RECORD=1`.
"""


def written(comparison: Comparison) -> str:
    lines = [INTRODUCTION, f"{comparison.cases} cases, {len(comparison.same)} of them answered the same:", ""]
    lines += ["| cases | of | what is asked |", "|---|---|---|"]
    counted = Counter(name.partition(".")[0] for name in (*comparison.same, *comparison.known))
    same = Counter(name.partition(".")[0] for name in comparison.same)
    lines += [f"| {same[group]} | {counted[group]} | {told} |" for group, told in GROUPS.items()]
    lines += ["", "## Differences", "", "| difference | cases |", "|---|---|"]
    for known in KNOWN:
        names = [f"`{name}`" for name, reason in comparison.known.items() if known.reason in reason]
        if names:
            lines.append(f"| {known.reason} | {_cases(names)} |")
    return "\n".join(lines) + "\n"


def _cases(names: list[str]) -> str:
    """All of a few, the number of many."""
    return ", ".join(names) if len(names) <= 6 else f"{len(names)}: {', '.join(names[:4])} …"
