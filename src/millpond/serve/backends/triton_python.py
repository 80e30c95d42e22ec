"""`class TritonPythonModel` of a model.py written for Triton: auto_complete_config, initialize, execute, finalize."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format

from ..config import check_supported, config_to_json
from ..config.message import finish
from ..errors import ServeError
from ..request import InferRequest
from ..statistics import BatchTimes
from ..tensors.datatypes import Array
from . import triton_python_backend_utils as utils
from .base import Arrays, Backend, Source

_STATUSES = {
    utils.TritonError.NOT_FOUND: 404,
    utils.TritonError.INVALID_ARG: 400,
    utils.TritonError.UNAVAILABLE: 503,
    utils.TritonError.UNSUPPORTED: 501,
    utils.TritonError.ALREADY_EXISTS: 409,
    utils.TritonError.CANCELLED: 499,
}


def install_utils() -> None:
    """Let models import the utilities under the name that they have in Triton."""
    sys.modules.setdefault("triton_python_backend_utils", utils)


def load(source: Source, kind: Any) -> Sequence[Backend]:
    if hasattr(kind, "auto_complete_config"):
        _auto_complete(source, kind)
    finish(source.config)
    return [_TritonPython(source, kind, index) for index in range(source.instances)]


# Told by methods of their own, not among the parameters.
_SEQUENCE = frozenset({"sequence_id", "sequence_start", "sequence_end"})


class _TritonPython:
    # Code of people may wait for anything.
    inline = False

    def __init__(self, source: Source, kind: Any, index: int) -> None:
        self._name = source.name
        self._version = source.version
        self._outputs = [entry.name for entry in source.config.output]
        args = {
            "model_config": json.dumps(config_to_json(source.config)),
            "model_instance_kind": "CPU",
            "model_instance_name": f"{source.name}_{index}",
            "model_instance_device_id": "0",
            "model_repository": str(source.folder),
            "model_version": str(source.version),
            "model_name": source.name,
        }
        try:
            self._model = kind()
            if hasattr(self._model, "initialize"):
                self._model.initialize(args)
        except Exception as error:
            raise source.refuse(f"{type(error).__name__}: {error}") from error

    def execute(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
        began = time.monotonic_ns()
        seen = [self._seen(request) for request in requests]
        made = time.monotonic_ns()
        responses = self._model.execute(seen)
        computed = time.monotonic_ns()
        if not isinstance(responses, Sequence):
            raise ServeError(500, f"execute() must return a list of responses, not {type(responses).__name__}")
        answers = [_answer(response) for response in responses]
        times.input_ns, times.infer_ns = made - began, computed - made
        times.output_ns = time.monotonic_ns() - computed
        return answers

    def close(self) -> None:
        if hasattr(self._model, "finalize"):
            self._model.finalize()

    def _seen(self, request: InferRequest) -> utils.InferenceRequest:
        return utils.InferenceRequest(
            request_id=request.id,
            correlation_id=request.parameters.get("sequence_id", 0),
            inputs=[utils.Tensor(tensor.name, writable(tensor.array)) for tensor in request.inputs],
            requested_output_names=[output.name for output in request.outputs] or self._outputs,
            model_name=self._name,
            model_version=self._version,
            timeout=request.timeout_us,
            parameters=_plain(request.parameters),
        )


def writable(array: Array) -> Array:
    """Models may change their inputs; what was read from a socket cannot be."""
    return array if array.flags.writeable else array.copy()


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key not in _SEQUENCE}


def _answer(response: Any) -> Arrays | ServeError:
    if response is None:
        return ServeError(500, "the model gave no response to the request")
    error = response.error()
    if error is not None:
        message = error.message() if isinstance(error, utils.TritonError) else str(error)
        code = error.code() if isinstance(error, utils.TritonError) else utils.TritonError.INTERNAL
        return ServeError(_STATUSES.get(code, 500), message)
    return {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}


def _auto_complete(source: Source, kind: Any) -> None:
    written = utils.ModelConfig(config_to_json(source.config))
    try:
        completed = kind.auto_complete_config(written)
    except ServeError:
        raise
    except Exception as error:
        raise source.refuse(f"auto_complete_config: {type(error).__name__}: {error}") from error
    if not isinstance(completed, utils.ModelConfig):
        raise source.refuse("auto_complete_config must return the configuration that it got")
    source.config.Clear()
    json_format.ParseDict(completed.as_dict(), source.config)
    check_supported(source.config, source.name)
