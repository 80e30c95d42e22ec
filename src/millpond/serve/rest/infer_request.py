"""The body of an infer call: JSON alone, or JSON and the bytes of its tensors behind it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from ..errors import ServeError
from ..http import Request
from ..request import InferRequest, RequestedOutput
from ..tensors import Tensor, from_binary, from_json

HEADER_LENGTH = b"inference-header-content-length"
_NOTHING: dict[str, Any] = {}
_NO_BYTES = memoryview(b"")
# JSON before binary tensors is read once where it is no longer than this.
_REPEATED_BYTES = 4096
# Parameters of a request that are not told to its model.
_OURS = frozenset({"timeout", "priority", "binary_data_output"})


class AnswerForm(NamedTuple):
    """Which outputs go out as bytes: `binary` by default, `own` where the request says it of an output."""

    binary: bool
    own: Mapping[str, bool]


class _Input(NamedTuple):
    """An input as described: `data` of JSON, or the number of bytes that follow."""

    name: str
    datatype: str
    shape: list[int]
    size: int | None
    data: Any


class _Call(NamedTuple):
    """The JSON of a request, checked. It may be that of other requests, too: nobody changes it."""

    inputs: tuple[_Input, ...]
    outputs: tuple[RequestedOutput, ...]
    id: str
    parameters: Mapping[str, Any]
    timeout_us: int
    priority: int
    form: AnswerForm


def read_infer(request: Request, model: str, version: str) -> tuple[InferRequest, AnswerForm]:
    """The request of this body; 400 with the reason if it is none."""
    body = request.body
    length = _header_length(request)
    if length is None:
        call, binary = _read_call(body), _NO_BYTES
    else:
        text, binary = body[:length], memoryview(body)[length:]
        call = _read_repeated(text) if length <= _REPEATED_BYTES else _read_call(text)
    inputs = _tensors(call.inputs, binary)
    infer = InferRequest(model, inputs, version, call.id, call.outputs, call.parameters, call.timeout_us, call.priority)
    return infer, call.form


def _read_call(text: bytes) -> _Call:
    call = _parsed(text)
    parameters = _parameters(call, "the request")
    inputs = _inputs(call.get("inputs"))
    outputs, own = _outputs(call.get("outputs"))
    identity = call.get("id", "")
    if not isinstance(identity, str):
        raise ServeError(400, "id of the request must be a string")
    # As in Triton, the default counts only where no output is named.
    form = AnswerForm(_truth(parameters, "binary_data_output") and not outputs, own)
    timeout, priority = _whole(parameters, "timeout"), _whole(parameters, "priority")
    return _Call(inputs, outputs, identity, _told(parameters) if parameters else parameters, timeout, priority, form)


# A client that sends tensors as bytes repeats the same few words before them, as long as their shapes are the same.
_read_repeated = lru_cache(maxsize=256)(_read_call)


def _header_length(request: Request) -> int | None:
    written = request.header(HEADER_LENGTH)
    if written is None:
        return None
    if not written.isdigit() or int(written) > len(request.body):
        raise ServeError(
            400, f"Inference-Header-Content-Length must be from 0 to {len(request.body)}, the body's length"
        )
    return int(written)


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        call = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ServeError(400, f"the request is not valid JSON: {error}") from None
    if not isinstance(call, dict):
        raise ServeError(400, "the request must be a JSON object")
    return call


def _inputs(entries: object) -> tuple[_Input, ...]:
    if not isinstance(entries, list):
        raise ServeError(400, "the request has no inputs")
    inputs = []
    for entry in entries:
        name, datatype, shape = _described(entry)
        size = None
        if entry.get("parameters") is not None:
            size = _binary_size(name, _parameters(entry, f"input '{name}'"))
        if size is None and "data" not in entry:
            raise ServeError(400, f"input '{name}' has no data")
        if size is not None and "data" in entry:
            raise ServeError(400, f"input '{name}' has both data and binary_data_size")
        inputs.append(_Input(name, datatype, shape, size, entry.get("data")))
    return tuple(inputs)


def _tensors(inputs: tuple[_Input, ...], binary: memoryview) -> tuple[Tensor, ...]:
    tensors = []
    offset = 0
    for name, datatype, shape, size, data in inputs:
        if size is None:
            array = from_json(name, datatype, shape, data)
        elif size > len(binary) - offset:
            raise ServeError(
                400, f"binary_data_size of input '{name}' is {size}, but the body has {len(binary) - offset} bytes left"
            )
        else:
            array = from_binary(name, datatype, shape, binary[offset : offset + size])
            offset += size
        tensors.append(Tensor(name, datatype, array))
    if offset != len(binary):
        raise ServeError(400, f"the body has {len(binary) - offset} bytes that belong to no input")
    return tuple(tensors)


def _described(entry: object) -> tuple[str, str, list[int]]:
    if not isinstance(entry, dict):
        raise ServeError(400, "each of the inputs must be a JSON object")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise ServeError(400, "an input has no name")
    shape = entry.get("shape")
    if not isinstance(shape, list):
        raise ServeError(400, f"input '{name}' has no shape")
    datatype = entry.get("datatype")
    if not isinstance(datatype, str):
        raise ServeError(400, f"input '{name}' has no datatype")
    return name, datatype, shape


def _binary_size(name: str, parameters: Mapping[str, Any]) -> int | None:
    if "shared_memory_region" in parameters:
        raise ServeError(400, f"input '{name}' is in shared memory, which is not supported: send its data")
    size = parameters.get("binary_data_size")
    if size is None:
        return None
    if type(size) is not int or size < 0:
        raise ServeError(400, f"binary_data_size of input '{name}' must be a whole number from 0 on")
    return size


def _outputs(entries: object) -> tuple[tuple[RequestedOutput, ...], Mapping[str, bool]]:
    if entries is None:
        return (), _NOTHING
    if not isinstance(entries, list):
        raise ServeError(400, "outputs must be a list")
    outputs: list[RequestedOutput] = []
    own: dict[str, bool] = {}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise ServeError(400, "each of the outputs must be a JSON object with a name")
        parameters = _parameters(entry, f"output '{name}'")
        if "shared_memory_region" in parameters:
            raise ServeError(400, f"output '{name}' is wanted in shared memory, which is not supported")
        if "binary_data" in parameters:
            own[name] = _truth(parameters, "binary_data")
        outputs.append(RequestedOutput(name, _whole(parameters, "classification")))
    return tuple(outputs), own


def _parameters(entry: Mapping[str, Any], what: str) -> dict[str, Any]:
    parameters = entry.get("parameters")
    if parameters is None:
        return _NOTHING
    if not isinstance(parameters, dict):
        raise ServeError(400, f"parameters of {what} must be a JSON object")
    return parameters


def _told(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What is for the model, and not for us: texts, numbers and truth values."""
    told = {}
    for key, value in parameters.items():
        if key in _OURS:
            continue
        if key.startswith("triton_"):
            raise ServeError(400, f"parameter '{key}': names that begin with triton_ are reserved")
        if not isinstance(value, str | int | float):
            raise ServeError(400, f"parameter '{key}' must be a string, a number, true or false")
        told[key] = value
    return told


def _whole(parameters: Mapping[str, Any], key: str) -> int:
    value = parameters.get(key, 0)
    if type(value) is not int or value < 0:
        raise ServeError(400, f"parameter '{key}' must be a whole number from 0 on")
    return value


def _truth(parameters: Mapping[str, Any], key: str) -> bool:
    value = parameters.get(key, False)
    if type(value) is not bool:
        raise ServeError(400, f"parameter '{key}' must be true or false")
    return value
