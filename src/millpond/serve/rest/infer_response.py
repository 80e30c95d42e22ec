"""The answer to an infer call, in the form that was asked for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from ..http import Response
from ..http.message import JSON, Buffer
from ..request import InferResponse
from ..tensors import Tensor, to_binary, to_json
from .infer_request import HEADER_LENGTH, AnswerForm

_BINARY = (b"content-type", b"application/octet-stream")
_PLAIN = orjson.OPT_SERIALIZE_NUMPY


def write_infer(response: InferResponse, form: AnswerForm) -> Response:
    outputs: list[dict[str, Any]] = []
    parts: list[Buffer] = [b""]
    finite = True
    for tensor in response.outputs:
        described: dict[str, Any] = {
            "name": tensor.name,
            "datatype": tensor.datatype,
            "shape": tensor.array.shape,
        }
        if form.own.get(tensor.name, form.binary):
            data = to_binary(tensor.array, tensor.datatype)
            described["parameters"] = {"binary_data_size": len(data)}
            parts.append(data)
        else:
            finite = finite and _is_finite(tensor)
            described["data"] = _elements(tensor) if finite else to_json(tensor.array, tensor.datatype)
        outputs.append(described)
    # The name first: a router gives it the name that the client asked for, without reading the rest.
    told: dict[str, Any] = {"model_name": response.model, "model_version": response.version}
    if response.id:
        told["id"] = response.id
    told["outputs"] = outputs
    if response.parameters:
        told["parameters"] = dict(response.parameters)
    head = orjson.dumps(told, option=_PLAIN) if finite else _with_nan(told)
    if not any(map(len, parts)):
        return Response(200, head, JSON)
    parts[0] = head
    return Response(200, parts, (_BINARY, (HEADER_LENGTH, b"%d" % len(head))))


def _elements(tensor: Tensor) -> Any:
    """What the writer of JSON takes: arrays of numbers as they are, flat."""
    if tensor.datatype == "BYTES":
        return to_json(tensor.array, tensor.datatype)
    return np.ascontiguousarray(tensor.array).reshape(-1)


def _is_finite(tensor: Tensor) -> bool:
    return tensor.array.dtype.kind != "f" or bool(np.isfinite(tensor.array).all())


def _with_nan(told: dict[str, Any]) -> bytes:
    """NaN and infinity are no JSON; clients of this protocol read them all the same, and null would be no number."""
    return json.dumps(told, default=lambda array: array.tolist(), separators=(",", ":")).encode()
