"""Whether a request fits the model that it is for: names, types, shapes and size of the batch."""

from __future__ import annotations

from .config import ModelConfig, TensorConfig
from .errors import ServeError
from .request import InferRequest
from .tensors import Tensor
from .tensors.datatypes import Array


def check_request(config: ModelConfig, request: InferRequest) -> tuple[InferRequest, int]:
    """The request as the model wants it, and its rows; 400 if it does not fit.

    A model without named inputs takes any; one that cannot batch has one row.
    """
    inputs = request.inputs
    if config.inputs:
        _check_names(config, inputs)
    rows = _rows(config, inputs) if config.max_batch_size else 1
    reshaped = False
    for tensor in inputs:
        expected = config.inputs.get(tensor.name)
        if expected is not None:
            _check_tensor(config, expected, tensor)
            reshaped = reshaped or expected.reshape is not None
    if config.outputs:
        for output in request.outputs:
            if output.name not in config.outputs:
                raise ServeError(400, f"unexpected inference output '{output.name}' for model '{config.name}'")
    if reshaped:
        request = _reshaped(config, request, rows)
    return request, rows


def reshape_output(config: ModelConfig, expected: TensorConfig, array: Array) -> Array:
    """An output as its client wants it, where the configuration gives it another shape than the model does."""
    batch = array.shape[:1] if config.max_batch_size else ()
    # numpy works one free dimension out by itself; more cannot be known.
    return array.reshape(*batch, *expected.dims)


def _check_names(config: ModelConfig, inputs: tuple[Tensor, ...]) -> None:
    names = {tensor.name for tensor in inputs}
    if len(names) != len(inputs):
        raise ServeError(400, f"an input of model '{config.name}' is given more than once")
    if names == config.inputs.keys():
        return
    for name in sorted(names - config.inputs.keys()):
        raise ServeError(
            400, f"unexpected inference input '{name}' for model '{config.name}': it has {', '.join(config.inputs)}"
        )
    if missing := sorted(config.required_inputs - names):
        raise ServeError(
            400,
            f"expected {len(config.inputs)} inputs but got {len(inputs)} inputs for model '{config.name}': "
            f"missing {', '.join(missing)}",
        )


def _rows(config: ModelConfig, inputs: tuple[Tensor, ...]) -> int:
    if not inputs:
        raise ServeError(400, f"the request for model '{config.name}' has no inputs")
    rows = {tensor.array.shape[0] if tensor.array.ndim else None for tensor in inputs}
    if len(rows) != 1 or None in rows:
        raise ServeError(400, f"inputs of model '{config.name}' must all begin with the same batch size")
    count = int(inputs[0].array.shape[0])
    if count < 1 or count > config.max_batch_size:
        raise ServeError(
            400,
            f"batch size of a request for model '{config.name}' must be from 1 to {config.max_batch_size}, not {count}",
        )
    return count


def _check_tensor(config: ModelConfig, expected: TensorConfig, tensor: Tensor) -> None:
    if tensor.datatype != expected.datatype:
        raise ServeError(
            400,
            f"input '{tensor.name}' of model '{config.name}' has datatype {tensor.datatype}, "
            f"but the model expects {expected.datatype}",
        )
    shape = tensor.array.shape[1:] if config.max_batch_size else tensor.array.shape
    dims = expected.dims
    if len(shape) == len(dims):
        for size, wanted in zip(shape, dims, strict=True):
            if wanted not in (size, -1):
                break
        else:
            return
    written = list(tensor.array.shape)
    batch = [-1] if config.max_batch_size else []
    raise ServeError(
        400,
        f"input '{tensor.name}' of model '{config.name}' has shape {written}, but the model expects {[*batch, *dims]}",
    )


def _reshaped(config: ModelConfig, request: InferRequest, rows: int) -> InferRequest:
    inputs = []
    for tensor in request.inputs:
        expected = config.inputs[tensor.name]
        array = tensor.array
        if expected.reshape is not None:
            array = array.reshape(*((rows,) if config.max_batch_size else ()), *expected.reshape)
        inputs.append(Tensor(tensor.name, tensor.datatype, array))
    return request._replace(inputs=tuple(inputs))
