"""Requests that a model answers before anyone else's: `model_warmup` of its configuration."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from ..config.message import TYPE_NAMES
from ..errors import ServeError
from ..request import InferRequest, InferResponse
from ..served import LoadedVersion
from ..tensors import Tensor, from_binary, numpy_type
from ..tensors.datatypes import Array


def warm_up(served: LoadedVersion, folder: Path) -> None:
    """Run every sample as often as it says; 400 if one fails."""
    for sample in served.config.message.model_warmup:
        inputs = tuple(
            Tensor(name, TYPE_NAMES[entry.data_type], _sample(served, sample, name, entry, folder))
            for name, entry in sample.inputs.items()
        )
        request = InferRequest(served.config.name, inputs, served.version, id=f"warmup {sample.name}")
        for _ in range(sample.count or 1):
            answer = ask(served, request)
            if isinstance(answer, ServeError):
                raise ServeError(400, f"warm-up '{sample.name}' of model '{served.config.name}' failed: {answer}")


def ask(served: LoadedVersion, request: InferRequest) -> InferResponse | ServeError:
    """Wait for the answer of a loaded version."""
    answered = threading.Event()
    answers: list[InferResponse | ServeError] = []

    def take(answer: InferResponse | ServeError) -> None:
        answers.append(answer)
        answered.set()

    try:
        served.submit(request, take)
    except ServeError as error:
        return error
    answered.wait()
    return answers[0]


def _sample(served: LoadedVersion, sample: Any, name: str, entry: Any, folder: Path) -> Array:
    batch = [max(1, sample.batch_size)] if served.config.max_batch_size else []
    shape = [*batch, *entry.dims]
    datatype = TYPE_NAMES[entry.data_type]
    if entry.input_data_file:
        file = folder / "warmup" / entry.input_data_file
        try:
            data = file.read_bytes()
        except OSError as error:
            raise ServeError(400, f"cannot read {file.name} of warm-up '{sample.name}': {error.strerror}") from None
        # A file holds one element; a batch repeats it.
        return np.broadcast_to(from_binary(name, datatype, list(entry.dims), data), shape)
    return filled(datatype, shape, random=entry.random_data)


def filled(datatype: str, shape: list[int], *, random: bool = False) -> Array:
    """An array of zeros (empty strings), or of random values."""
    if datatype == "BYTES":
        strings = np.empty(shape, np.object_)
        strings.fill(b"")
        return strings
    kind = numpy_type(datatype)
    if not random:
        return np.zeros(shape, kind)
    source = np.random.default_rng(0)
    if kind.kind == "f":
        return source.random(shape).astype(kind)
    return source.integers(0, 2, shape).astype(kind)
