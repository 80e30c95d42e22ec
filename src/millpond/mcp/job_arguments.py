"""The arguments that say what a job is, and the request they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from millpond.client.task_file import EMPTY, Task
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds

Command = Annotated[
    list[str] | str, Field(description='Program and arguments, like ["python", "train.py"]. A string is run by sh -c.')
]
Name = Annotated[str | None, Field(description="Name of the job; made if left out.")]
Data = Annotated[
    list[str], Field(description="Inputs, each dataset[@ref]. In the job: $MILL_DATA_<DATASET>, /data/<dataset>.")
]
On = Annotated[str | None, Field(description="Template or queue (see list_templates).")]
Cpu = Annotated[int | None, Field(ge=1, description="CPUs.")]
Memory = Annotated[str | None, Field(description="Memory, like 4GB.")]
Gpu = Annotated[str | None, Field(description="GPUs: 1, 2, or a part like 0.5.")]
Image = Annotated[str | None, Field(description="Container image, where the compute runs containers.")]
Timeout = Annotated[str | None, Field(description="Longest time, like 2h.")]
Env = Annotated[dict[str, str], Field(description="Environment variables. No secrets: use spec.secrets.")]
Spec = Annotated[
    dict[str, Any], Field(description='Further fields of a job\'s specification, like {"priority": 5, "retries": 2}.')
]


def task_of(
    *, command: list[str] | str, name: str | None, data: list[str], on: str | None, cpu: int | None, memory: str | None,
    gpu: str | None, image: str | None, timeout: str | None, env: Mapping[str, str], spec: Mapping[str, Any],
) -> Task:  # fmt: skip
    """What was asked as a task, as of a task file. BadRequest or Invalid for amounts that are none."""
    given: dict[str, Any] = {
        "command": ["sh", "-c", command] if isinstance(command, str) else command,
        "inputs": data or None,
        "on": on,
        "cpu": cpu,
        "memory_bytes": parse_bytes(memory) if memory else None,
        "gpu_hundredths": parse_gpus(gpu) if gpu else None,
        "image": image,
        "timeout_seconds": parse_seconds(timeout) if timeout else None,
        "env": dict(env) or None,
    }
    fields = {key: value for key, value in given.items() if value is not None}
    return replace(EMPTY, name=name, document={**spec, **fields})
