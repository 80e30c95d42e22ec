"""Models of MLflow (a folder with `MLmodel`), run as pyfunc; inputs and outputs come from the signature.

A signature of columns has an input of shape [rows, 1] for each column; one of tensors has them as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import mlflow.pyfunc
import numpy as np
import pandas as pd

from ..config import fill_in
from ..tensors import datatype_of
from ..tensors.datatypes import Array
from .base import DERIVED_BATCH, Arrays, Backend, Source
from .stacked import Stacked

_INPUT, _OUTPUT = "input", "output"
_COLUMN_TYPES = {
    "boolean": "BOOL",
    "integer": "INT32",
    "long": "INT64",
    "float": "FP32",
    "double": "FP64",
    "string": "BYTES",
    "binary": "BYTES",
    "datetime": "BYTES",
}

Described = tuple[str, str, list[int]]


def load(source: Source) -> Sequence[Backend]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = mlflow.pyfunc.load_model(str(source.version_folder))
        except Exception as error:
            raise source.refuse(f"mlflow: {type(error).__name__}: {error}") from error
    signature = model.metadata.signature
    inputs = _described(source, signature.inputs, _INPUT) if signature and signature.inputs else []
    outputs = _described(source, signature.outputs, _OUTPUT) if signature and signature.outputs else []
    if inputs:
        fill_in(source.config, inputs, outputs, max_batch_size=DERIVED_BATCH)
    return [Stacked(_Pyfunc(model, signature.inputs if signature else None, bool(inputs)))] * source.instances


class _Pyfunc:
    # A pyfunc may be anybody's code.
    inline = False

    def __init__(self, model: Any, schema: Any, typed: bool) -> None:
        self._model = model
        self._columns = list(schema.inputs) if schema is not None and not schema.is_tensor_spec() and typed else []
        self._named = schema is not None and schema.is_tensor_spec() and schema.has_input_names()

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _arrays(self._model.predict(self._data(inputs)))

    def close(self) -> None:
        """The model ends with the last who knows it."""

    def _data(self, inputs: Arrays) -> Any:
        if self._columns:
            return pd.DataFrame(
                {
                    (spec.name or index): _column(inputs[spec.name or f"{_INPUT}-{index}"], spec.type.name)
                    for index, spec in enumerate(self._columns)
                    if (spec.name or f"{_INPUT}-{index}") in inputs
                }
            )
        if self._named or len(inputs) > 1:
            return inputs
        (only,) = inputs.values()
        return only


def _described(source: Source, schema: Any, default: str) -> list[Described]:
    specs = list(schema.inputs)
    if schema.is_tensor_spec():
        return [
            (
                spec.name or (default if len(specs) == 1 else f"{default}-{index}"),
                datatype_of(np.empty(0, spec.type)),
                [int(size) for size in spec.shape],
            )
            for index, spec in enumerate(specs)
        ]
    found = []
    for index, spec in enumerate(specs):
        kind = getattr(spec.type, "name", "")
        if str(spec.type) == "Any":
            # MLflow could not tell: whatever comes is given to the model.
            return []
        if kind not in _COLUMN_TYPES:
            raise source.refuse(
                f"column '{spec.name}' of its signature is {spec.type}, which the protocol cannot carry"
            )
        name = spec.name or (default if len(specs) == 1 else f"{default}-{index}")
        # Outputs of one column are arrays of one dimension; inputs are told as a column of a table.
        found.append((name, _COLUMN_TYPES[kind], [-1, 1] if default == _INPUT else [-1]))
    return found


def _column(array: Array, kind: str) -> Any:
    flat = array.reshape(len(array), -1)[:, 0]
    if kind == "string":
        return [element.decode() if isinstance(element, bytes) else element for element in flat]
    return pd.to_datetime([element.decode() for element in flat]) if kind == "datetime" else flat


def _arrays(answer: Any) -> Mapping[str, Array]:
    """Outputs by name: columns of a table, entries of a dict, or the only one."""
    if isinstance(answer, pd.DataFrame):
        return {str(name): _plain(answer[name].to_numpy()) for name in answer.columns}
    if isinstance(answer, Mapping):
        return {str(name): _plain(np.asarray(value)) for name, value in answer.items()}
    return {_OUTPUT: _plain(np.asarray(answer))}


def _plain(array: Array) -> Array:
    if array.dtype.kind in "SUT":
        return array.astype(np.object_)
    return array.astype(str).astype(np.object_) if array.dtype.kind == "M" else array
