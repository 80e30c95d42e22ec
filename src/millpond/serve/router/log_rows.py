"""Rows of the request log: what is kept of a request and its answer, with fields left out as the endpoint says.

Pure functions; a body that cannot be read makes a row that says so.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ..errors import ServeError
from ..http.compression import decompress
from .config import LogRule, RoutedVersion

# Of one tensor, and of one body after decompression. Longer ones are told by their size alone.
MOST_TENSOR_BYTES = 64 * 1024
MOST_BODY_BYTES = 16 * 1024 * 1024

REDACTED = "redacted"


@dataclass(slots=True)
class LoggedBody:
    """A body as it went by: of HTTP with its form, or a message of gRPC."""

    content: bytes
    encoding: str = ""
    header_length: int | None = None
    grpc: bool = False


@dataclass(slots=True)
class LogEntry:
    """A request and its answer, before it becomes a row. Bodies only where the endpoint logs them."""

    id: str
    time: float
    endpoint: str
    served: RoutedVersion
    protocol: str
    status: int
    seconds: float
    token: str | None
    bytes_in: int
    bytes_out: int
    redact: frozenset[str] = frozenset()
    request: LoggedBody | None = None
    response: LoggedBody | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it takes in memory."""
        if self.request is None and self.response is None:
            return 512  # most of them: asked for every request
        bodies = sum(len(body.content) for body in (self.request, self.response) if body is not None)
        return 512 + bodies


def is_sampled(rule: LogRule, request_id: str) -> bool:
    """True if this request belongs to the sample. The same id is always decided the same way."""
    if rule.sample >= 1:
        return True
    number = int.from_bytes(blake2b(request_id.encode(), digest_size=4).digest(), "big")
    return number < rule.sample * 2**32


def row(entry: LogEntry) -> dict[str, Any]:
    """The entry as one JSON object."""
    found: dict[str, Any] = {
        "id": entry.id,
        "time": round(entry.time, 6),
        "endpoint": entry.endpoint,
        "model": entry.served.model,
        "version": entry.served.version,
        "protocol": entry.protocol,
        "status": entry.status,
        "ms": round(entry.seconds * 1000, 3),
        "token": entry.token,
        "bytes_in": entry.bytes_in,
        "bytes_out": entry.bytes_out,
    }
    if entry.request is not None:
        found["request"] = body_document(entry.request, entry.redact, is_request=True)
    if entry.response is not None:
        found["response"] = body_document(entry.response, entry.redact, is_request=False)
    return found


def body_document(body: LoggedBody, redact: frozenset[str], *, is_request: bool) -> dict[str, Any]:
    """The tensors and parameters of a body. Those named in `redact` are named without their values."""
    try:
        if body.grpc:
            document, binary = _from_grpc(body.content, is_request=is_request), b""
        else:
            document, binary = _from_http(body)
    except (ServeError, ValueError, RecursionError, ImportError):
        return {"unreadable": True, "bytes": len(body.content)}
    if not isinstance(document, dict):
        return {"unreadable": True, "bytes": len(body.content)}
    kept: dict[str, Any] = {key: document[key] for key in ("id", "error") if isinstance(document.get(key), str)}
    if isinstance(document.get("parameters"), dict) and document["parameters"]:
        kept["parameters"] = _parameters(document["parameters"], redact)
    for key in ("inputs", "outputs"):
        tensors = document.get(key)
        if isinstance(tensors, list):
            kept[key], binary = _tensors(tensors, binary, redact)
    return kept


def _from_http(body: LoggedBody) -> tuple[Any, bytes]:
    content = body.content
    if body.encoding and body.encoding != "identity":
        content = decompress(content, body.encoding, MOST_BODY_BYTES)
    length = len(content) if body.header_length is None else body.header_length
    if not 0 <= length <= len(content):
        raise ValueError("the length of the JSON part is beyond the body")
    return json.loads(content[:length]), content[length:]


def _from_grpc(content: bytes, *, is_request: bool) -> dict[str, Any]:
    # The messages of the protocol come with Triton's client; routers that log no bodies do without.
    from google.protobuf.json_format import MessageToDict  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415
    from tritonclient.grpc import service_pb2  # noqa: PLC0415

    kind = service_pb2.ModelInferRequest if is_request else service_pb2.ModelInferResponse
    try:
        message = kind.FromString(content)
    except DecodeError as error:
        raise ValueError("not a message of the protocol") from error
    document: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    tensors = document.get("inputs" if is_request else "outputs", [])
    raw = message.raw_input_contents if is_request else message.raw_output_contents
    for tensor, contents in zip(tensors, raw, strict=False):
        tensor["raw"] = contents
    for tensor in tensors:
        tensor["shape"] = [int(size) for size in tensor.get("shape", [])]
        for kind_of_values, values in tensor.pop("contents", {}).items():
            # Numbers of 64 bits are texts in the JSON of protobuf.
            tensor["data"] = [int(one) for one in values] if "int64" in kind_of_values else values
        _make_numbers(tensor.get("parameters", {}))
    _make_numbers(document.get("parameters", {}))
    return document


def _make_numbers(parameters: dict[str, dict[str, Any]]) -> None:
    for parameter in parameters.values():
        for kind in ("int64_param", "uint64_param"):
            if kind in parameter:
                parameter[kind] = int(parameter[kind])


def _parameters(parameters: dict[str, Any], redact: frozenset[str]) -> dict[str, Any]:
    return {key: REDACTED if key in redact else value for key, value in parameters.items()}


def _tensors(tensors: list[Any], binary: bytes, redact: frozenset[str]) -> tuple[list[dict[str, Any]], bytes]:
    """The tensors with their data, and what they left of the binary part."""
    found = []
    for tensor in tensors:
        if not isinstance(tensor, dict):
            continue
        kept = {key: tensor[key] for key in ("name", "datatype", "shape") if key in tensor}
        # Only messages of gRPC have bytes here: JSON has none.
        raw = tensor["raw"] if isinstance(tensor.get("raw"), bytes) else None
        parameters = tensor.get("parameters")
        size = parameters.get("binary_data_size") if isinstance(parameters, dict) and raw is None else None
        if isinstance(size, int) and size >= 0:
            raw, binary = binary[:size], binary[size:]
        if str(tensor.get("name")) in redact:
            kept[REDACTED] = True
        elif raw is not None:
            kept.update(_limited_binary(raw))
        elif "data" in tensor:
            kept.update(_limited_json(tensor["data"]))
        found.append(kept)
    return found, binary


def _limited_binary(raw: bytes) -> dict[str, Any]:
    if len(raw) > MOST_TENSOR_BYTES:
        return {"omitted_bytes": len(raw)}
    return {"base64": base64.b64encode(raw).decode()}


def _limited_json(data: Any) -> dict[str, Any]:
    size = len(json.dumps(data))
    return {"omitted_bytes": size} if size > MOST_TENSOR_BYTES else {"data": data}
