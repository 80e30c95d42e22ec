"""Messages of inference: requests as the server wants them, answers as clients read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tritonclient.grpc import service_pb2

from ..errors import ServeError
from ..request import InferRequest, InferResponse, RequestedOutput
from ..tensors import Tensor, check_shape, from_binary, numpy_type, to_binary
from ..tensors.datatypes import Array

# The field of typed contents for each datatype. FP16 and BF16 have none: they travel as raw bytes.
_FIELDS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}
_EMPTY_FINAL = "triton_enable_empty_final_response"
_VALUES = frozenset({"bool_param", "int64_param", "string_param", "double_param"})


def read_request(message: Any) -> InferRequest:
    """The request in a `ModelInferRequest`; raises `ServeError` where it contradicts itself."""
    raw = message.raw_input_contents
    inputs = tuple(_raw_inputs(message, raw)) if raw else tuple(_typed_inputs(message))
    parameters, timeout_us, priority = _parameters(message.parameters) if message.parameters else ({}, 0, 0)
    return InferRequest(
        message.model_name,
        inputs,
        message.model_version,
        message.id,
        tuple(_requested(output) for output in message.outputs),
        parameters,
        timeout_us,
        priority,
    )


def write_response(response: InferResponse) -> Any:
    """A `ModelInferResponse` with raw contents."""
    message = service_pb2.ModelInferResponse(model_name=response.model, model_version=response.version, id=response.id)
    outputs, raw = message.outputs, message.raw_output_contents
    for tensor in response.outputs:
        outputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.array.shape)
        raw.append(bytes(to_binary(tensor.array, tensor.datatype)))
    for key, value in response.parameters.items():
        write_parameter(message.parameters[key], value)
    return message


def write_parameter(parameter: Any, value: Any) -> None:
    if isinstance(value, bool):
        parameter.bool_param = value
    elif isinstance(value, int):
        parameter.int64_param = value
    elif isinstance(value, float):
        parameter.double_param = value
    else:
        parameter.string_param = str(value)


def _raw_inputs(message: Any, raw: Any) -> list[Tensor]:
    if len(raw) > len(message.inputs):
        raise ServeError(400, f"raw_input_contents has {len(raw)} entries for {len(message.inputs)} inputs")
    inputs = []
    for index, tensor in enumerate(message.inputs):
        _refuse_shared_memory(tensor)
        if tensor.HasField("contents"):
            raise ServeError(
                400,
                "contents field must not be specified when using raw_input_contents "
                f"for '{tensor.name}' for model '{message.model_name}'",
            )
        if index >= len(raw):
            raise _no_data(message, tensor)
        array = from_binary(tensor.name, tensor.datatype, list(tensor.shape), raw[index])
        inputs.append(Tensor(tensor.name, tensor.datatype, array))
    return inputs


def _typed_inputs(message: Any) -> list[Tensor]:
    inputs = []
    for tensor in message.inputs:
        _refuse_shared_memory(tensor)
        if not tensor.HasField("contents") and 0 not in tensor.shape:
            raise _no_data(message, tensor)
        inputs.append(Tensor(tensor.name, tensor.datatype, _from_contents(tensor)))
    return inputs


def _from_contents(tensor: Any) -> Array:
    shape = list(tensor.shape)
    count = check_shape(tensor.name, shape)
    kind, field = numpy_type(tensor.datatype), _FIELDS.get(tensor.datatype)
    filled = [descriptor.name for descriptor, _ in tensor.contents.ListFields()]
    if field is None or any(name != field for name in filled):
        told = field or "raw_input_contents"
        raise ServeError(400, f"data of input '{tensor.name}' of datatype {tensor.datatype} belongs in {told}")
    values = getattr(tensor.contents, field)
    if len(values) != count:
        raise ServeError(400, f"input '{tensor.name}' has {len(values)} elements, but its shape needs {count}")
    try:
        return np.array(values, kind).reshape(shape)
    except OverflowError:
        raise ServeError(400, f"input '{tensor.name}' has an element that does not fit {tensor.datatype}") from None


def _no_data(message: Any, tensor: Any) -> ServeError:
    return ServeError(
        400, f"unable to find data for input tensor '{tensor.name}' for model '{message.model_name}' in request."
    )


def _refuse_shared_memory(tensor: Any) -> None:
    if tensor.parameters and "shared_memory_region" in tensor.parameters:
        raise ServeError(
            400,
            f"'{tensor.name}' names a region of shared memory, which is not supported: send its data in the request",
        )


def _requested(output: Any) -> RequestedOutput:
    if not output.parameters:
        return RequestedOutput(output.name)
    _refuse_shared_memory(output)
    classes = 0
    if "classification" in output.parameters:
        chosen = output.parameters["classification"]
        if chosen.WhichOneof("parameter_choice") != "int64_param" or chosen.int64_param < 0:
            raise ServeError(400, "invalid value type for 'classification' parameter, expected int64_param")
        classes = chosen.int64_param
    return RequestedOutput(output.name, classes)


def _parameters(given: Any) -> tuple[dict[str, Any], int, int]:
    """What a model is told, the timeout in microseconds, the priority."""
    told: dict[str, Any] = {}
    numbers = {"timeout": 0, "priority": 0}
    for key, value in given.items():
        field = value.WhichOneof("parameter_choice")
        if key in numbers:
            if field not in ("int64_param", "uint64_param") or getattr(value, field) < 0:
                raise ServeError(400, f"invalid value type for '{key}' parameter, expected int64_param")
            numbers[key] = getattr(value, field)
        elif key == _EMPTY_FINAL:
            continue
        elif key.startswith("triton_"):
            raise ServeError(400, f"parameter keys starting with 'triton_' are reserved, as '{key}'")
        elif field not in _VALUES:
            raise ServeError(
                400,
                f"invalid value type for '{key}' parameter, "
                "expected int64_param, bool_param, double_param or string_param",
            )
        else:
            told[key] = getattr(value, field)
    return told, numbers["timeout"], numbers["priority"]
