"""Every method of `tritonclient.http`, and inference through it with each of its options."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import ml_dtypes
import numpy as np
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio

from tests.conformance.registry import Answer, Session, attempt, case, kinds


def numbers(start: float = 0.0, rows: int = 1) -> np.ndarray[Any, Any]:
    return np.arange(start, start + 4 * rows, dtype=np.float32).reshape(rows, 4)


def inputs(*, is_binary: bool = True, rows: int = 1) -> list[triton.InferInput]:
    made = []
    for name in ("INPUT0", "INPUT1"):
        one = triton.InferInput(name, [rows, 4], "FP32")
        one.set_data_from_numpy(numbers(rows=rows), binary_data=is_binary)
        made.append(one)
    return made


def read(answer: triton.InferResult) -> Answer:
    """What a program reads from a result."""
    response = answer.get_response()
    tensors = {one["name"]: answer.as_numpy(one["name"]) for one in response["outputs"]}
    return {
        "response": response,
        "values": {
            name: None if value is None else [str(value.dtype), value.tolist()] for name, value in tensors.items()
        },
    }


def _method(name: str, *arguments: Any, **options: Any) -> Callable[[Session], Answer]:
    return lambda session: attempt(lambda: getattr(session.http, name)(*arguments, **options))


def _infer(model: str = "add_sub", **options: Any) -> Callable[[Session], Answer]:
    return lambda session: attempt(lambda: read(session.http.infer(model, inputs(), **options)))


def _wanted(name: str, **options: Any) -> triton.InferRequestedOutput:
    return triton.InferRequestedOutput(name, **options)


CASES = {
    "is_server_live": _method("is_server_live"),
    "is_server_ready": _method("is_server_ready"),
    "is_model_ready": _method("is_model_ready", "add_sub"),
    "is_model_ready_version": _method("is_model_ready", "add_sub", "1"),
    "is_model_ready_unknown": _method("is_model_ready", "nothing"),
    "get_server_metadata": _method("get_server_metadata"),
    "get_model_metadata": _method("get_model_metadata", "add_sub"),
    "get_model_metadata_unknown": _method("get_model_metadata", "nothing"),
    "get_model_config": _method("get_model_config", "add_sub", "1"),
    "get_inference_statistics": lambda session: kinds(session.http.get_inference_statistics("types", "1")),
    "get_trace_settings": _method("get_trace_settings"),
    "get_trace_settings_of_model": _method("get_trace_settings", "add_sub"),
    "get_trace_settings_of_unknown": _method("get_trace_settings", "nothing"),
    "get_log_settings": _method("get_log_settings"),
    "get_system_shared_memory_status": _method("get_system_shared_memory_status"),
    "get_cuda_shared_memory_status": _method("get_cuda_shared_memory_status"),
    "infer": _infer(),
    "infer_version": _infer(model_version="1"),
    "infer_version_unknown": _infer(model_version="9"),
    "infer_model_unknown": _infer("nothing"),
    "infer_id": _infer(request_id="42"),
    "infer_outputs": _infer(outputs=[_wanted("OUTPUT1"), _wanted("OUTPUT0", binary_data=False)]),
    "infer_output_unknown": _infer(outputs=[_wanted("OUTPUT9")]),
    "infer_gzip": _infer(request_compression_algorithm="gzip", response_compression_algorithm="gzip"),
    "infer_deflate": _infer(request_compression_algorithm="deflate", response_compression_algorithm="deflate"),
    "infer_priority": _infer(priority=1),
    "infer_timeout": _infer(timeout=10_000_000),
    "infer_parameters": _infer(parameters={"colour": "blue", "count": 2, "deep": True}),
    "infer_sequence": _infer(sequence_id=4, sequence_start=True, sequence_end=True),
    "infer_headers": _infer(headers={"X-Name": "value"}),
    "infer_query": _infer(query_params={"a": "b"}),
    "infer_classes": _infer(outputs=[_wanted("OUTPUT0", class_count=2)]),
}


@case
def every_method_is_here(session: Session) -> Answer:
    """Methods of the client; a new one would need a case."""
    return sorted(name for name in dir(triton.InferenceServerClient) if not name.startswith("_"))


@case
def infer_json_tensors(session: Session) -> Answer:
    return attempt(lambda: read(session.http.infer("add_sub", inputs(is_binary=False))))


@case
def infer_json_both_ways(session: Session) -> Answer:
    wanted = [_wanted(name, binary_data=False) for name in ("OUTPUT0", "OUTPUT1")]
    return attempt(lambda: read(session.http.infer("add_sub", inputs(is_binary=False), outputs=wanted)))


@case
def infer_rows(session: Session) -> Answer:
    return attempt(lambda: read(session.http.infer("add_sub", inputs(rows=8))))


@case
def infer_too_many_rows(session: Session) -> Answer:
    return attempt(lambda: read(session.http.infer("add_sub", inputs(rows=9))))


@case
def async_infer(session: Session) -> Answer:
    pending = [session.http.async_infer("add_sub", inputs(), request_id=str(number)) for number in range(8)]
    return [attempt(lambda one=one: read(one.get_result())) for one in pending]  # type: ignore[misc]


@case
def infer_bytes(session: Session) -> Answer:
    values = np.array([[b"text", b"\x00\xff", "größe".encode()]], dtype=np.object_)
    one = triton.InferInput("BYTES", [1, 3], "BYTES")
    one.set_data_from_numpy(values)
    answer = session.http.infer("types", [one], outputs=[_wanted("OUT_BYTES")])
    return {"response": answer.get_response(), "hex": [v.hex() for v in answer.as_numpy("OUT_BYTES").ravel()]}


@case
def infer_fp16(session: Session) -> Answer:
    one = triton.InferInput("FP16", [1, 2], "FP16")
    one.set_data_from_numpy(np.array([[0.5, -1.25]], np.float16))
    return attempt(lambda: read(session.http.infer("types", [one], outputs=[_wanted("OUT_FP16")])))


@case
def infer_bf16(session: Session) -> Answer:
    one = triton.InferInput("B", [2], "BF16")
    one.set_data_from_numpy(np.array([1.0, -2.5], ml_dtypes.bfloat16))
    got = session.http.infer("packed", [one], outputs=[_wanted("OUT_B")])
    return {"response": got.get_response(), "values": got.as_numpy("OUT_B").astype(np.float32).tolist()}


@case
def infer_fp16_as_json(session: Session) -> Answer:
    body = {"inputs": [{"name": "FP16", "shape": [1, 1], "datatype": "FP16", "data": [0.5]}]}
    return session.send("POST", "/v2/models/types/infer", body)


@case
def generate_and_parse(session: Session) -> Answer:
    """A body made by the client's static method, sent by another HTTP client, read by the client's static method."""
    body, length = triton.InferenceServerClient.generate_request_body(inputs())
    headers = {"Inference-Header-Content-Length": str(length)}
    response = session.web.post("/v2/models/add_sub/infer", content=bytes(body), headers=headers)
    at = response.headers.get("inference-header-content-length")
    parsed = triton.InferenceServerClient.parse_response_body(response.content, header_length=int(at) if at else None)
    return read(parsed)


def _run(ask: Callable[[triton_aio.InferenceServerClient], Coroutine[Any, Any, Answer]], session: Session) -> Answer:
    async def main() -> Answer:
        async with triton_aio.InferenceServerClient(session.server.http) as client:
            return await ask(client)

    return asyncio.run(main())


@case
def aio_infer(session: Session) -> Answer:
    async def ask(client: triton_aio.InferenceServerClient) -> Answer:
        answers = await asyncio.gather(*(client.infer("add_sub", inputs(), request_id=str(n)) for n in range(5)))
        return [read(answer) for answer in answers]

    return _run(ask, session)


@case
def aio_gzip(session: Session) -> Answer:
    async def ask(client: triton_aio.InferenceServerClient) -> Answer:
        return read(await client.infer("add_sub", inputs(), request_compression_algorithm="gzip"))

    return _run(ask, session)


@case
def aio_describe(session: Session) -> Answer:
    async def ask(client: triton_aio.InferenceServerClient) -> Answer:
        return [
            await client.is_server_live(),
            await client.is_server_ready(),
            await client.is_model_ready("add_sub"),
            await client.get_model_metadata("add_sub"),
            (await client.get_model_config("add_sub"))["name"],
        ]

    return _run(ask, session)
