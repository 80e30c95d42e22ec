"""Which nodes have the kind of GPU, the GPU memory and the labels that a job asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millpond.model.job_spec import JobSpec

_BREAK = re.compile(r"[^A-Za-z0-9]+")


def is_gpu_type(wanted: str, model: str) -> bool:
    """True if the words of `wanted` stand next to each other in a model's name, whatever their case.

    `A100` is in `NVIDIA A100-SXM4-40GB`, and so is `a100-sxm4`; `A10` is not. `RTX 4090` is in `GeForce RTX 4090`.
    """
    asked, words = _words(wanted), _words(model)
    width = len(asked)
    return bool(asked) and any(words[at : at + width] == asked for at in range(len(words) - width + 1))


def suits(spec: JobSpec, *, gpu_model: str, gpu_memory_bytes: int, labels: Mapping[str, str]) -> bool:
    """True if a node has the GPU type, the GPU memory and the labels that a job asks for."""
    return (
        (spec.gpu_type is None or is_gpu_type(spec.gpu_type, gpu_model))
        and spec.min_gpu_memory_bytes <= gpu_memory_bytes
        and missing_label(spec.node_selector, labels) is None
    )


def missing_label(selector: Mapping[str, str], labels: Mapping[str, str]) -> str | None:
    """The first KEY=VALUE that a node does not have; None if it has all."""
    return next((f"{key}={value}" for key, value in sorted(selector.items()) if labels.get(key) != value), None)


def _words(text: str) -> list[str]:
    return [word for word in _BREAK.split(text.lower()) if word]
