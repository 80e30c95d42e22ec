"""Several requests as one array for each input, and the outputs cut again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ServeError
from ..request import InferRequest
from ..statistics import BatchTimes
from ..tensors.datatypes import Array
from .base import Arrays, Predictor


class Stacked:
    """A backend of a predictor. Requests that fail together are tried one by one, so that only the guilty fail."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.inline = predictor.inline

    def execute(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
        if len(requests) == 1:
            return [self._alone(requests[0], times)]
        began = time.monotonic_ns()
        names = [tensor.name for tensor in requests[0].inputs]
        by_name = [{tensor.name: tensor.array for tensor in request.inputs} for request in requests]
        stacked = {name: np.concatenate([arrays[name] for arrays in by_name]) for name in names}
        rows = [len(request.inputs[0].array) for request in requests]
        made = time.monotonic_ns()
        times.input_ns = made - began
        try:
            outputs = self._predictor.predict(stacked, _wanted(requests))
        except Exception:  # noqa: BLE001 - told to those whose own inputs fail
            return self._one_by_one(requests, times)
        computed = time.monotonic_ns()
        if any(array.ndim == 0 or len(array) != sum(rows) for array in outputs.values()):
            return self._one_by_one(requests, times)
        cut = _cut(outputs, rows)
        times.infer_ns = computed - made
        times.output_ns = time.monotonic_ns() - computed
        return cut

    def close(self) -> None:
        self._predictor.close()

    def _alone(self, request: InferRequest, times: BatchTimes) -> Arrays:
        began = time.monotonic_ns()
        inputs = {tensor.name: tensor.array for tensor in request.inputs}
        outputs = self._predictor.predict(inputs, [output.name for output in request.outputs])
        times.infer_ns += time.monotonic_ns() - began
        return dict(outputs)

    def _one_by_one(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
        answers: list[Arrays | ServeError] = []
        for request in requests:
            try:
                answers.append(self._alone(request, times))
            except Exception as error:  # noqa: BLE001 - whatever a model raises is told to its client
                answers.append(told(error))
        return answers


def told(error: BaseException) -> ServeError:
    """The error of a model as its client sees it."""
    if isinstance(error, ServeError):
        return error
    return ServeError(500, f"the model failed: {type(error).__name__}: {error}"[:2000])


def _wanted(requests: Sequence[InferRequest]) -> list[str]:
    """Outputs that any of the requests asks for; none if one asks for all."""
    names: dict[str, None] = {}
    for request in requests:
        if not request.outputs:
            return []
        names.update(dict.fromkeys(output.name for output in request.outputs))
    return list(names)


def _cut(outputs: Mapping[str, Array], rows: Sequence[int]) -> list[Arrays | ServeError]:
    cut: list[Arrays | ServeError] = []
    first = 0
    for count in rows:
        cut.append({name: array[first : first + count] for name, array in outputs.items()})
        first += count
    return cut
