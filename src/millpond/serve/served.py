"""A model version that serves: checks requests, hands them to the scheduler, makes responses of the outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .backends.base import Arrays, Backend
from .backends.stacked import told
from .batching import Scheduler, Work
from .config import ModelConfig, TensorConfig
from .errors import ServeError
from .request import InferRequest, InferResponse, RequestedOutput
from .statistics import Statistics
from .tensors import Tensor, datatype_of, numpy_type
from .tensors.datatypes import Array
from .validation import check_request, reshape_output

Answer = Callable[[InferResponse | ServeError], None]


class LoadedVersion:
    """One loaded version. `submit` may be called by any thread."""

    def __init__(self, config: ModelConfig, version: int, folder: Path, instances: Sequence[Backend]) -> None:
        self.config = config
        self.version = str(version)
        self.statistics = Statistics()
        self._folder = folder
        self._instances = list(dict.fromkeys(instances))
        self._scheduler = Scheduler(
            f"{config.name}-{version}", instances, config.max_batch_size, config.batching, self.statistics
        )
        self._labels: dict[str, list[str]] = {}

    @property
    def pending(self) -> int:
        return self._scheduler.pending

    @cached_property
    def shares_batches(self) -> bool:
        return self.config.batching is not None

    def submit(self, request: InferRequest, answer: Answer) -> None:
        """Serve a request; `answer` is called once, in any thread, perhaps at once. Raises if it does not fit."""
        arrived = time.monotonic_ns()
        fitting, rows = check_request(self.config, request)
        key = _key(fitting) if self.shares_batches else None

        def done(result: Arrays | ServeError) -> None:
            answer(result if isinstance(result, ServeError) else self._respond(fitting, result))

        self._scheduler.submit(Work(fitting, rows, key, done, arrived))

    def close(self) -> None:
        """Finish what was taken, then let the model go."""
        self._scheduler.close()
        for instance in self._instances:
            instance.close()

    def metadata(self, versions: Sequence[str]) -> dict[str, Any]:
        batch = [-1] if self.config.max_batch_size else []

        def described(tensors: Sequence[TensorConfig]) -> list[dict[str, Any]]:
            return [{"name": t.name, "datatype": t.datatype, "shape": [*batch, *t.dims]} for t in tensors]

        return {
            "name": self.config.name,
            "versions": list(versions),
            "platform": self.config.platform or self.config.backend,
            "inputs": described(list(self.config.inputs.values())),
            "outputs": described(list(self.config.outputs.values())),
        }

    def _respond(self, request: InferRequest, arrays: Arrays) -> InferResponse | ServeError:
        try:
            outputs = tuple(self._output(each, arrays[each.name]) for each in self._wanted(request, arrays))
        except Exception as error:  # noqa: BLE001 - an output that fits nothing is told to its client
            return told(error)
        return InferResponse(self.config.name, self.version, outputs, request.id)

    def _wanted(self, request: InferRequest, arrays: Arrays) -> Iterator[RequestedOutput]:
        """In the model's own order, as Triton does. Of what nobody asked for by name, a model may leave out some."""
        if not request.outputs:
            known = self.config.outputs or arrays
            return (RequestedOutput(name) for name in arrays if name in known)
        asked = {each.name: each for each in request.outputs}
        if missing := next((name for name in asked if name not in arrays), None):
            raise ServeError(500, f"model '{self.config.name}' gave no output '{missing}'")
        return (asked[name] for name in arrays if name in asked)

    def _output(self, wanted: RequestedOutput, array: Array) -> Tensor:
        expected = self.config.outputs.get(wanted.name)
        if expected is not None:
            array = self._as_configured(expected, array)
        if wanted.classes:
            return self._classified(wanted, array)
        return Tensor(wanted.name, expected.datatype if expected else datatype_of(array), array)

    def _as_configured(self, expected: TensorConfig, array: Array) -> Array:
        kind = numpy_type(expected.datatype)
        if array.dtype != kind and expected.datatype != "BYTES":
            try:
                array = array.astype(kind, casting="same_kind")
            except TypeError:
                raise ServeError(
                    500, f"output '{expected.name}' is {array.dtype}, but the config says {expected.datatype}"
                ) from None
        return reshape_output(self.config, expected, array) if expected.reshape is not None else array

    def _classified(self, wanted: RequestedOutput, array: Array) -> Tensor:
        """The highest values of each row as "value:index" or "value:index:label"."""
        if array.dtype.kind not in "iuf":
            raise ServeError(400, f"output '{wanted.name}' is not of numbers: it cannot be classified")
        batched = bool(self.config.max_batch_size)
        rows = array.reshape(len(array), -1) if batched else array.reshape(1, -1)
        count = min(wanted.classes, rows.shape[1])
        labels = self._labels_of(wanted.name)
        highest = np.argsort(-rows.astype(np.float64), axis=1, kind="stable")[:, :count]
        told_rows = [
            [_classification(row[index], int(index), labels) for index in best]
            for row, best in zip(rows, highest, strict=True)
        ]
        strings = np.empty((len(rows), count), np.object_)
        strings[:] = told_rows
        return Tensor(wanted.name, "BYTES", strings if batched else strings[0])

    def _labels_of(self, output: str) -> list[str]:
        if output not in self._labels:
            expected = self.config.outputs.get(output)
            file = self._folder / expected.label_file if expected and expected.label_file else None
            self._labels[output] = file.read_text("utf-8").splitlines() if file and file.is_file() else []
        return self._labels[output]


def _classification(value: Any, index: int, labels: Sequence[str]) -> bytes:
    number = f"{value:f}" if isinstance(value, np.floating) else str(value)
    label = f":{labels[index]}" if index < len(labels) else ""
    return f"{number}:{index}{label}".encode()


def _key(request: InferRequest) -> tuple[Any, ...]:
    """Equal for requests whose inputs can be put together."""
    return tuple((tensor.name, tensor.datatype, tensor.array.shape[1:]) for tensor in request.inputs)
