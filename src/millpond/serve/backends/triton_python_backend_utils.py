"""What `import triton_python_backend_utils as pb_utils` gives to a model.py written for Triton."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ServeError
from ..tensors.binary import from_binary, to_binary
from ..tensors.datatypes import Array, datatype_of

log = logging.getLogger("model")

TRITON_STRING_TO_NUMPY: dict[str, Any] = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}
# Set by the server that runs the models of this process: what `InferenceRequest.exec` calls.
infer_here: Callable[[InferenceRequest], InferenceResponse] | None = None


class TritonModelException(Exception):
    """What a model raises on purpose."""


class TritonError:
    """An error of one request, as part of its response."""

    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message = message
        self._code = code

    def message(self) -> str:
        return self._message

    def code(self) -> int:
        return self._code

    def __str__(self) -> str:
        return self._message


class Tensor:
    """A named array."""

    def __init__(self, name: str, data: Array) -> None:
        self._name = name
        self._array = np.asarray(data)
        self._datatype = datatype_of(self._array)

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Array:
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def triton_dtype(self) -> str:
        return "TYPE_STRING" if self._datatype == "BYTES" else f"TYPE_{self._datatype}"

    def is_cpu(self) -> bool:
        return True

    def to_dlpack(self) -> Any:
        return self._array.__dlpack__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    @staticmethod
    def from_dlpack(name: str, tensor: Any) -> Tensor:
        """Of anything with `__dlpack__`, or of the capsule that `to_dlpack` gives."""
        return Tensor(name, np.from_dlpack(tensor if hasattr(tensor, "__dlpack__") else _OfCapsule(tensor)))


class _OfCapsule:
    """A capsule in main memory as numpy takes it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class InferenceRequest:
    """A request as a model sees it; or one that a model makes for another model (`exec`)."""

    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        inputs: Sequence[Tensor] = (),
        requested_output_names: Sequence[str] = (),
        model_name: str = "",
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        parameters: Mapping[str, Any] | str | None = None,
        **_others: Any,
    ) -> None:
        self._id = request_id
        self._correlation_id = correlation_id
        self._inputs = list(inputs)
        self._outputs = list(requested_output_names)
        self._model = model_name
        self._version = model_version
        self._flags = flags
        self._timeout = timeout
        self._parameters = parameters if isinstance(parameters, str) else json.dumps(dict(parameters or {}))

    def inputs(self) -> list[Tensor]:
        return self._inputs

    def requested_output_names(self) -> list[str]:
        return self._outputs

    def request_id(self) -> str:
        return self._id

    def correlation_id(self) -> int | str:
        return self._correlation_id

    def model_name(self) -> str:
        return self._model

    def model_version(self) -> int:
        return self._version

    def flags(self) -> int:
        return self._flags

    def timeout(self) -> int:
        return self._timeout

    def parameters(self) -> str:
        return self._parameters

    def is_cancelled(self) -> bool:
        return False

    def get_response_sender(self) -> Any:
        raise TritonModelException("responses can be sent by decoupled models only, which are not supported")

    def exec(self, decoupled: bool = False) -> InferenceResponse:
        """Ask another model of this server, and wait for its answer."""
        if decoupled:
            raise TritonModelException("decoupled models are not supported")
        if infer_here is None:
            raise TritonModelException("no server runs in this process: other models cannot be asked")
        return infer_here(self)

    async def async_exec(self, decoupled: bool = False) -> InferenceResponse:
        import asyncio  # noqa: PLC0415 - few models need it

        return await asyncio.to_thread(self.exec, decoupled)


class InferenceResponse:
    """Outputs of one request, or its error."""

    def __init__(
        self, output_tensors: Sequence[Tensor] = (), error: TritonError | None = None, parameters: Any = None
    ) -> None:
        self._outputs = list(output_tensors)
        self._error = error
        self._parameters = parameters

    def output_tensors(self) -> list[Tensor]:
        return self._outputs

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> TritonError | None:
        return self._error

    def parameters(self) -> Any:
        return self._parameters


class Logger:
    """`pb_utils.Logger.log_info("…")`."""

    INFO, WARNING, ERROR, VERBOSE = range(4)

    @staticmethod
    def log(message: str, level: int = INFO) -> None:
        levels = (logging.INFO, logging.WARNING, logging.ERROR, logging.DEBUG)
        log.log(levels[level], message)

    @staticmethod
    def log_info(message: str) -> None:
        log.info(message)

    @staticmethod
    def log_warn(message: str) -> None:
        log.warning(message)

    @staticmethod
    def log_error(message: str) -> None:
        log.error(message)

    @staticmethod
    def log_verbose(message: str) -> None:
        log.debug(message)


class ModelConfig:
    """What `auto_complete_config` completes."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config

    def as_dict(self) -> dict[str, Any]:
        return self._config

    def set_max_batch_size(self, max_batch_size: int) -> None:
        # A written size is the user's; a model may only ask for none where it cannot batch.
        if not self._config.get("max_batch_size"):
            self._config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self) -> None:
        self._config.setdefault("dynamic_batching", {})

    def set_model_transaction_policy(self, policy: dict[str, Any]) -> None:
        if policy.get("decoupled"):
            raise ServeError(400, "model_transaction_policy.decoupled is not supported: a request has one response")

    def add_input(self, entry: dict[str, Any]) -> None:
        self._add("input", entry)

    def add_output(self, entry: dict[str, Any]) -> None:
        self._add("output", entry)

    def _add(self, side: str, entry: dict[str, Any]) -> None:
        known = self._config.setdefault(side, [])
        if not any(each["name"] == entry["name"] for each in known):
            known.append(entry)


def get_input_tensor_by_name(request: InferenceRequest, name: str) -> Tensor | None:
    return next((tensor for tensor in request.inputs() if tensor.name() == name), None)


def get_output_tensor_by_name(response: InferenceResponse, name: str) -> Tensor | None:
    return next((tensor for tensor in response.output_tensors() if tensor.name() == name), None)


def get_input_config_by_name(model_config: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((entry for entry in model_config.get("input", ()) if entry["name"] == name), None)


def get_output_config_by_name(model_config: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((entry for entry in model_config.get("output", ()) if entry["name"] == name), None)


def using_decoupled_model_transaction_policy(model_config: dict[str, Any]) -> bool:
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled"))


def triton_string_to_numpy(name: str) -> Any:
    return TRITON_STRING_TO_NUMPY[name]


def triton_to_numpy_type(number: int) -> Any:
    """Datatypes by the numbers that they have in a configuration."""
    return list(TRITON_STRING_TO_NUMPY.values())[number - 1]


def numpy_to_triton_type(kind: Any) -> int:
    return [np.dtype(each) for each in TRITON_STRING_TO_NUMPY.values()].index(np.dtype(kind)) + 1


def serialize_byte_tensor(array: Array) -> Array:
    """The elements of a BYTES tensor, each behind its length, as one element."""
    return np.array([bytes(to_binary(array, "BYTES"))], np.object_)


def deserialize_bytes_tensor(data: bytes) -> Array:
    count, offset = 0, 0
    while offset < len(data):
        offset += 4 + int.from_bytes(data[offset : offset + 4], "little")
        count += 1
    return from_binary("bytes", "BYTES", [count], data)
