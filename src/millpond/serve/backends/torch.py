"""PyTorch models: TorchScript (`model.pt`) and programs of `torch.export` (`model.pt2`)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..config import fill_in
from ..errors import ServeError
from ..tensors.datatypes import Array
from .base import DERIVED_BATCH, Arrays, Backend, Source, usable_cores
from .stacked import Stacked
from .triton_python import writable

_DATATYPES = {
    torch.bool: "BOOL",
    torch.uint8: "UINT8",
    torch.int8: "INT8",
    torch.int16: "INT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.float16: "FP16",
    torch.bfloat16: "BF16",
    torch.float32: "FP32",
    torch.float64: "FP64",
}
# As Triton names tensors of models that name none: INPUT__0.
_INDEXED = re.compile(r".+__([0-9]+)")


def load(source: Source) -> Sequence[Backend]:
    torch.set_num_threads(usable_cores())
    with warnings.catch_warnings():
        # What torch has to say about its own formats is nothing that a request could change.
        warnings.simplefilter("ignore")
        try:
            model = _load_exported(source) if source.file.suffix == ".pt2" else _load_script(source)
        except ServeError:
            raise
        except Exception as error:
            raise source.refuse(f"torch: {error}") from error
    return [Stacked(model)] * source.instances


class _Torch:
    """`arguments` are the names that the model calls its inputs; outputs are named by the configuration, or counted."""

    inline = True

    def __init__(self, call: Any, arguments: Sequence[str], source: Source) -> None:
        self._call = call
        written = [entry.name for entry in source.config.input]
        self._order = _in_order(written, arguments)
        self._bf16 = {entry.name for entry in source.config.input if entry.data_type == 14}
        self._outputs = _in_order([entry.name for entry in source.config.output], [])

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        order = self._order or list(inputs)
        given = [self._tensor(name, inputs[name]) for name in order if name in inputs]
        with torch.inference_mode():
            answer = self._call(*given)
        if isinstance(answer, Mapping):
            return {str(name): _array(value) for name, value in answer.items()}
        values = answer if isinstance(answer, tuple | list) else (answer,)
        if self._outputs and len(values) < len(self._outputs):
            raise ServeError(500, f"the model gave {len(values)} outputs; its config has {len(self._outputs)}")
        names = self._outputs or [f"OUTPUT__{index}" for index in range(len(values))]
        return {name: _array(value) for name, value in zip(names, values, strict=False)}

    def close(self) -> None:
        """The module ends with the last who knows it."""

    def _tensor(self, name: str, array: Array) -> Any:
        tensor = torch.from_numpy(writable(np.ascontiguousarray(array)))
        return tensor.to(torch.bfloat16) if name in self._bf16 else tensor


def _load_script(source: Source) -> _Torch:
    script: Any = torch.jit
    module = script.load(str(source.file), map_location="cpu")
    module.eval()
    arguments = [argument.name for argument in module.forward.schema.arguments][1:]
    return _Torch(module, arguments, source)


def _load_exported(source: Source) -> _Torch:
    program = torch.export.load(source.file)
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    arguments = [str(name) for name in program.graph_signature.user_inputs]
    results = [str(name) for name in program.graph_signature.user_outputs]
    fill_in(
        source.config,
        [_described(source, name, values[name]) for name in arguments],
        [_described(source, f"OUTPUT__{index}", values[name]) for index, name in enumerate(results)],
        max_batch_size=DERIVED_BATCH,
    )
    return _Torch(program.module(), arguments, source)


def _described(source: Source, name: str, value: Any) -> tuple[str, str, list[int]]:
    if not isinstance(value, torch.Tensor) or value.dtype not in _DATATYPES:
        raise source.refuse(f"'{name}' is no tensor that the protocol can carry")
    return name, _DATATYPES[value.dtype], [size if type(size) is int else -1 for size in value.shape]


def _in_order(written: list[str], arguments: Sequence[str]) -> list[str]:
    """Names of the configuration in the order of the model's arguments: by name, by NAME__0, or as written."""
    if not written:
        return list(arguments)
    if set(written) <= set(arguments):
        return [name for name in arguments if name in written]
    indices = {name: int(found[1]) for name in written if (found := _INDEXED.fullmatch(name))}
    return sorted(written, key=lambda name: indices[name]) if len(indices) == len(written) else written


def _array(value: Any) -> Array:
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    tensor = value.detach().cpu()
    return np.asarray((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy())
