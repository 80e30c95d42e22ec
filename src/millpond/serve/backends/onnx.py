"""ONNX models, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort

from ..config import PbConfig, fill_in
from ..config.message import TYPE_NAMES
from ..tensors.datatypes import Array
from .base import DERIVED_BATCH, Arrays, Backend, Source, usable_cores
from .stacked import Stacked

_DATATYPES = {
    "tensor(bool)": "BOOL",
    "tensor(uint8)": "UINT8",
    "tensor(uint16)": "UINT16",
    "tensor(uint32)": "UINT32",
    "tensor(uint64)": "UINT64",
    "tensor(int8)": "INT8",
    "tensor(int16)": "INT16",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
}
_KIND_GPU = 1


def load(source: Source) -> Sequence[Backend]:
    session = _open(source)
    inputs = [_described(source, each) for each in session.get_inputs()]
    # Outputs that are no tensors, as maps of classifiers, cannot be told: the rest is served.
    outputs = [_described(source, each) for each in session.get_outputs() if each.type in _DATATYPES]
    if not outputs:
        raise source.refuse("none of its outputs is a tensor")
    fill_in(source.config, inputs, outputs, max_batch_size=DERIVED_BATCH)
    _compare(source, source.config.input, inputs, "input")
    _compare(source, source.config.output, outputs, "output")
    # A session may run in several threads at once: instances share it, and its memory.
    return [Stacked(_Onnx(session, source.config))] * source.instances


class _Onnx:
    inline = True

    def __init__(self, session: ort.InferenceSession, config: PbConfig) -> None:
        self._run = session.run
        self._outputs = [entry.name for entry in config.output]
        self._strings = {entry.name for entry in config.input if TYPE_NAMES[entry.data_type] == "BYTES"}

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        names = list(outputs) or self._outputs
        for name in self._strings:
            if name in inputs:
                inputs[name] = _text(inputs[name])
        return dict(zip(names, self._run(names, inputs), strict=True))

    def close(self) -> None:
        """The session ends with the last who knows it."""


def _open(source: Source) -> ort.InferenceSession:
    options = ort.SessionOptions()
    # Threads that spin between requests cost more than they gain, and take the cores of others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.intra_op_num_threads = int(source.parameter("intra_op_thread_count") or usable_cores())
    options.inter_op_num_threads = int(source.parameter("inter_op_thread_count") or 0)
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(source.file, options, providers=_providers(source.config))
    except Exception as error:
        raise source.refuse(f"onnxruntime: {error}") from error


def _providers(config: PbConfig) -> list[str]:
    wants_gpu = any(group.kind == _KIND_GPU or group.gpus for group in config.instance_group)
    gpu = ["CUDAExecutionProvider"] if wants_gpu and "CUDAExecutionProvider" in ort.get_available_providers() else []
    return [*gpu, "CPUExecutionProvider"]


def _described(source: Source, node: Any) -> tuple[str, str, list[int]]:
    datatype = _DATATYPES.get(node.type)
    if datatype is None:
        raise source.refuse(f"'{node.name}' is a {node.type}, which the protocol cannot carry")
    return node.name, datatype, [size if isinstance(size, int) and size > 0 else -1 for size in node.shape]


def _compare(source: Source, written: Any, found: list[tuple[str, str, list[int]]], kind: str) -> None:
    known = {name: datatype for name, datatype, _ in found}
    for entry in written:
        if entry.name not in known:
            raise source.refuse(f"its config has an {kind} '{entry.name}'; the model has {', '.join(known)}")
        if TYPE_NAMES[entry.data_type] != known[entry.name]:
            written_type = TYPE_NAMES[entry.data_type]
            raise source.refuse(
                f"{kind} '{entry.name}' is {written_type} in its config, {known[entry.name]} in the model"
            )
    missing = known.keys() - {entry.name for entry in written}
    if kind == "input" and missing:
        raise source.refuse(f"its config does not have the input '{min(missing)}' of the model")


def _text(array: Array) -> Array:
    texts = np.empty(array.shape, np.object_)
    texts.reshape(-1)[:] = [element.decode("utf-8", "replace") for element in array.reshape(-1)]
    return texts
