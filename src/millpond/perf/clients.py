"""Asks a model server, over HTTP or gRPC, as Triton's own clients do: binary tensors, a connection for each thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from millpond.errors import Invalid, MillError, Unavailable
from millpond.perf.samples import Arrays, ServedModel
from millpond.serve.tensors import datatype_of, from_binary, numpy_type

_SECONDS = 120.0


class ServerClient(Protocol):
    """One server and one of its models. Every method may be called from several threads at once."""

    def describe(self) -> ServedModel: ...
    def infer(self, arrays: Arrays) -> Mapping[str, NDArray[Any]]: ...


def connect(url: str, protocol: str, model: str, token: str | None = None) -> ServerClient:
    """A client of `protocol`: http or grpc. Raises Invalid where a package is missing."""
    if protocol == "http":
        return _Http(url, model, token)
    return _Grpc(url, model, token)


class _Http:
    def __init__(self, url: str, model: str, token: str | None) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        self._secure, self._address = parts.scheme == "https", parts.netloc
        self._base = f"{parts.path.rstrip('/')}/v2/models/{model}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._local = threading.local()

    def describe(self) -> ServedModel:
        return ServedModel.from_answers(self._get(""), self._get("/config"))

    def infer(self, arrays: Arrays) -> Mapping[str, NDArray[Any]]:
        head: dict[str, Any] = {"inputs": [], "parameters": {"binary_data_output": True}}
        bodies = []
        for name, array in arrays.items():
            raw = array.tobytes()
            head["inputs"].append(
                {"name": name, "shape": list(array.shape), "datatype": datatype_of(array),
                 "parameters": {"binary_data_size": len(raw)}}
            )  # fmt: skip
            bodies.append(raw)
        text = json.dumps(head, separators=(",", ":")).encode()
        headers = {**self._headers, "Inference-Header-Content-Length": str(len(text))}
        answer, length = self._call("POST", "/infer", b"".join([text, *bodies]), headers)
        return _answered(answer, length)

    def _get(self, path: str) -> dict[str, Any]:
        answer, _ = self._call("GET", path, None, self._headers)
        found: dict[str, Any] = json.loads(answer)
        return found

    def _call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[bytes, int | None]:
        connection = self._connection()
        try:
            connection.request(method, self._base + path, body, dict(headers))
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unavailable(f"{self._address} does not answer: {error}") from error
        if response.status != 200:
            raise MillError(
                f"{method} {self._base}{path} answered {response.status}: {answer[:300].decode(errors='replace')}"
            )
        length = response.getheader("Inference-Header-Content-Length")
        return answer, int(length) if length else None

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is None:
            if self._secure:
                found = http.client.HTTPSConnection(
                    self._address, timeout=_SECONDS, context=ssl.create_default_context()
                )
            else:
                found = http.client.HTTPConnection(self._address, timeout=_SECONDS)
            self._local.connection = found
        return found


def _answered(answer: bytes, length: int | None) -> dict[str, NDArray[Any]]:
    """The output arrays of an answer, binary or JSON."""
    head = json.loads(answer[:length])
    found, at = {}, length or 0
    for output in head["outputs"]:
        name, datatype, shape = output["name"], output["datatype"], output["shape"]
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            found[name] = np.array(output["data"], dtype=numpy_type(datatype)).reshape(shape)
        else:
            found[name] = from_binary(name, datatype, shape, memoryview(answer)[at : at + size])
            at += size
    return found


class _Grpc:
    def __init__(self, url: str, model: str, token: str | None) -> None:
        try:
            import tritonclient.grpc as triton  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise Invalid("gRPC needs tritonclient.", hint="pip install 'millpond[perf]'") from error
        self._triton, self._model = triton, model
        parts = urlsplit(url if "//" in url else f"grpc://{url}")
        self._client = triton.InferenceServerClient(parts.netloc, ssl=parts.scheme in ("https", "grpcs"))
        self._headers = {"authorization": f"Bearer {token}"} if token else {}

    def describe(self) -> ServedModel:
        metadata = self._client.get_model_metadata(self._model, headers=self._headers, as_json=True)
        config = self._client.get_model_config(self._model, headers=self._headers, as_json=True)
        return ServedModel.from_answers(metadata, config["config"])

    def infer(self, arrays: Arrays) -> Mapping[str, NDArray[Any]]:
        inputs = []
        for name, array in arrays.items():
            one = self._triton.InferInput(name, list(array.shape), datatype_of(array))
            one.set_data_from_numpy(array)
            inputs.append(one)
        try:
            result = self._client.infer(self._model, inputs, headers=self._headers, client_timeout=_SECONDS)
        except self._triton.InferenceServerException as error:
            raise MillError(f"Inference failed: {error}") from error
        return {one.name: result.as_numpy(one.name) for one in result.get_response().outputs}
