"""gRPC: inference with raw and typed contents, parameters, classes, compression, metadata, bad requests."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
from collections.abc import Callable
from typing import Any

import grpc
import ml_dtypes
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from tritonclient.grpc import service_pb2

from tests.conformance.cases.http_types import SAMPLES
from tests.conformance.registry import Answer, Session, as_json, attempt, case, client_error

PACKED = struct.pack("<4f", 1, 2, 3, 4)
Input = service_pb2.ModelInferRequest.InferInputTensor
Output = service_pb2.ModelInferRequest.InferRequestedOutputTensor
Contents = service_pb2.InferTensorContents
Parameter = service_pb2.InferParameter
FIELDS = {
    "BOOL": "bool_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


def tensor(name: str, **changes: Any) -> Any:
    return Input(**{"name": name, "shape": [1, 4], "datatype": "FP32"} | changes)


def request(*inputs: Any, raw: list[bytes] | None = None, **changes: Any) -> Any:
    inputs = inputs or (tensor("INPUT0"), tensor("INPUT1"))
    raw = [PACKED, PACKED] if raw is None else raw
    return service_pb2.ModelInferRequest(
        **{"model_name": "add_sub", "inputs": inputs, "raw_input_contents": raw} | changes
    )


def _infer(message: Any) -> Callable[[Session], Answer]:
    return lambda session: session.call("ModelInfer", message)


def _typed(name: str, **contents: Any) -> Any:
    return tensor(name, contents=Contents(**contents))


FLOATS = {"fp32_contents": [1, 2, 3, 4]}
CASES: dict[str, Callable[[Session], Answer]] = {
    "raw": _infer(request()),
    "typed": _infer(request(_typed("INPUT0", **FLOATS), _typed("INPUT1", **FLOATS), raw=[])),
    "typed_and_raw": _infer(request(_typed("INPUT0", **FLOATS), tensor("INPUT1"), raw=[PACKED])),
    "raw_for_typed_too": _infer(request(_typed("INPUT0", **FLOATS), tensor("INPUT1"))),
    "version": _infer(request(model_version="1")),
    "version_unknown": _infer(request(model_version="7")),
    "version_word": _infer(request(model_version="one")),
    "id": _infer(request(id="abc")),
    "output": _infer(request(outputs=[Output(name="OUTPUT1")])),
    "outputs_in_other_order": _infer(request(outputs=[Output(name="OUTPUT1"), Output(name="OUTPUT0")])),
    "output_twice": _infer(request(outputs=[Output(name="OUTPUT1"), Output(name="OUTPUT1")])),
    "output_unknown": _infer(request(outputs=[Output(name="OUTPUT9")])),
    "output_without_name": _infer(request(outputs=[Output()])),
    "output_binary_data": _infer(
        request(outputs=[Output(name="OUTPUT0", parameters={"binary_data": Parameter(bool_param=False)})])
    ),
    "output_classes": _infer(
        request(outputs=[Output(name="OUTPUT0", parameters={"classification": Parameter(int64_param=2)})])
    ),
    "output_classes_text": _infer(
        request(outputs=[Output(name="OUTPUT0", parameters={"classification": Parameter(string_param="2")})])
    ),
    "output_shared_memory": _infer(
        request(
            outputs=[
                Output(
                    name="OUTPUT0",
                    parameters={
                        "shared_memory_region": Parameter(string_param="r"),
                        "shared_memory_byte_size": Parameter(int64_param=16),
                    },
                )
            ]
        )
    ),
    "input_shared_memory": _infer(
        request(
            tensor(
                "INPUT0",
                parameters={
                    "shared_memory_region": Parameter(string_param="r"),
                    "shared_memory_byte_size": Parameter(int64_param=16),
                },
            ),
            tensor("INPUT1"),
            raw=[PACKED],
        )
    ),
    "model_unknown": _infer(request(model_name="nothing")),
    "model_unloaded": _infer(request(model_name="unloaded")),
    "model_empty": _infer(request(model_name="")),
    "empty_request": _infer(service_pb2.ModelInferRequest()),
    "no_inputs": _infer(service_pb2.ModelInferRequest(model_name="add_sub")),
    "input_missing": _infer(request(tensor("INPUT0"), raw=[PACKED])),
    "input_unknown": _infer(request(tensor("INPUT0"), tensor("INPUT9"))),
    "input_twice": _infer(request(tensor("INPUT0"), tensor("INPUT0"), tensor("INPUT1"), raw=[PACKED] * 3)),
    "input_without_data": _infer(request(raw=[])),
    "raw_too_few": _infer(request(raw=[PACKED])),
    "raw_too_many": _infer(request(raw=[PACKED] * 3)),
    "raw_short": _infer(request(raw=[PACKED[:12], PACKED])),
    "raw_long": _infer(request(raw=[PACKED + PACKED, PACKED])),
    "raw_odd": _infer(request(raw=[PACKED[:15], PACKED])),
    "raw_empty": _infer(request(raw=[b"", PACKED])),
    "type_wrong": _infer(request(tensor("INPUT0", datatype="INT32"), tensor("INPUT1"))),
    "type_unknown": _infer(request(tensor("INPUT0", datatype="FP31"), tensor("INPUT1"))),
    "type_empty": _infer(request(tensor("INPUT0", datatype=""), tensor("INPUT1"))),
    "shape_wrong": _infer(request(tensor("INPUT0", shape=[1, 3]), tensor("INPUT1"), raw=[PACKED[:12], PACKED])),
    "shape_empty": _infer(request(tensor("INPUT0", shape=[]), tensor("INPUT1"))),
    "shape_negative": _infer(request(tensor("INPUT0", shape=[-1, 4]), tensor("INPUT1"))),
    "shape_both_negative": _infer(request(tensor("INPUT0", shape=[-1, -4]), tensor("INPUT1"))),
    "shape_huge": _infer(request(tensor("INPUT0", shape=[2**62, 4]), tensor("INPUT1"))),
    "batch_too_large": _infer(
        request(tensor("INPUT0", shape=[9, 4]), tensor("INPUT1", shape=[9, 4]), raw=[PACKED * 9] * 2)
    ),
    "typed_wrong_field": _infer(
        request(_typed("INPUT0", int_contents=[1, 2, 3, 4]), _typed("INPUT1", **FLOATS), raw=[])
    ),
    "typed_two_fields": _infer(
        request(_typed("INPUT0", int_contents=[1], **FLOATS), _typed("INPUT1", **FLOATS), raw=[])
    ),
    "typed_short": _infer(request(_typed("INPUT0", fp32_contents=[1, 2]), _typed("INPUT1", **FLOATS), raw=[])),
    "typed_fp16": _infer(
        request(
            Input(name="FP16", datatype="FP16", shape=[1, 2], contents=Contents(fp32_contents=[1, 2])),
            raw=[],
            model_name="types",
            outputs=[Output(name="OUT_FP16")],
        )
    ),
    "typed_beyond_int8": _infer(
        request(
            Input(name="INT8", datatype="INT8", shape=[1, 2], contents=Contents(int_contents=[300, 2])),
            raw=[],
            model_name="types",
            outputs=[Output(name="OUT_INT8")],
        )
    ),
    "priority": _infer(request(parameters={"priority": Parameter(uint64_param=2)})),
    "timeout": _infer(request(parameters={"timeout": Parameter(int64_param=5_000_000)})),
}


def _as_type(name: str, *, is_typed: bool) -> Callable[[Session], Answer]:
    values, packed = SAMPLES[name]
    data: dict[str, Any] = {}
    if is_typed:
        items = [value.encode() if isinstance(value, str) else value for value in values]
        data = {"contents": Contents(**{FIELDS[name]: items})}
    one = Input(name=name, datatype=name, shape=[1, 2], **data)
    wanted = [Output(name=f"OUT_{name}")]
    return _infer(request(one, raw=[] if is_typed else [packed], model_name="types", outputs=wanted))


CASES |= {f"raw_{name.lower()}": _as_type(name, is_typed=False) for name in SAMPLES}
CASES |= {f"typed_{name.lower()}": _as_type(name, is_typed=True) for name in FIELDS}


def _failing(how: str) -> Callable[[Session], Answer]:
    one = Input(name="HOW", datatype="BYTES", shape=[1], contents=Contents(bytes_contents=[how.encode()]))
    return _infer(request(one, raw=[], model_name="failing"))


CASES |= {f"model_{how}": _failing(how) for how in ("raise", "error", "invalid", "missing", "other", "shape", "type")}


def _inspected(**changes: Any) -> Callable[[Session], Answer]:
    one = Input(name="X", datatype="INT32", shape=[2])
    message = request(one, raw=[struct.pack("<2i", 1, 2)], **{"model_name": "inspect"} | changes)

    def ask(session: Session) -> Answer:
        try:
            response = session.stub.ModelInfer(message, timeout=60)
        except grpc.RpcError as error:
            return {"code": error.code().name, "error": error.details()}
        raw = response.raw_output_contents[0]
        seen = json.loads(raw[4:])
        del response.raw_output_contents[:]
        return {"code": "OK", "body": as_json(response), "seen": seen}

    return ask


CASES |= {
    "told_nothing": _inspected(),
    "told_id": _inspected(id="seven"),
    "told_parameters": _inspected(
        parameters={
            "text": Parameter(string_param="a"),
            "flag": Parameter(bool_param=True),
            "count": Parameter(int64_param=-3),
            "rate": Parameter(double_param=0.5),
        }
    ),
    "told_unsigned_parameter": _inspected(parameters={"count": Parameter(uint64_param=3)}),
    "told_empty_parameter": _inspected(parameters={"nothing": Parameter()}),
    "told_priority": _inspected(parameters={"priority": Parameter(uint64_param=2)}),
    "told_priority_signed": _inspected(parameters={"priority": Parameter(int64_param=2)}),
    "told_priority_text": _inspected(parameters={"priority": Parameter(string_param="2")}),
    "told_timeout": _inspected(parameters={"timeout": Parameter(int64_param=5_000_000)}),
    "told_timeout_text": _inspected(parameters={"timeout": Parameter(string_param="soon")}),
    "told_sequence": _inspected(
        parameters={"sequence_id": Parameter(int64_param=5), "sequence_start": Parameter(bool_param=True)}
    ),
    "told_sequence_text": _inspected(parameters={"sequence_id": Parameter(string_param="five")}),
    "told_headers_no": _inspected(parameters={"triton_other": Parameter(bool_param=True)}),
}


def inputs(rows: int = 1) -> list[triton.InferInput]:
    made = []
    for name in ("INPUT0", "INPUT1"):
        one = triton.InferInput(name, [rows, 4], "FP32")
        one.set_data_from_numpy(np.arange(4 * rows, dtype=np.float32).reshape(rows, 4))
        made.append(one)
    return made


def read(answer: triton.InferResult) -> Answer:
    response = answer.get_response(as_json=True)
    values = {one["name"]: answer.as_numpy(one["name"]).tolist() for one in response.get("outputs", ())}
    return {"response": response, "values": values}


def _client(model: str = "add_sub", **options: Any) -> Callable[[Session], Answer]:
    return lambda session: attempt(lambda: read(session.grpc.infer(model, inputs(), **options)))


CASES |= {
    "client": _client(),
    "client_version": _client(model_version="1"),
    "client_id": _client(request_id="42"),
    "client_unknown": _client("nothing"),
    "client_outputs": _client(outputs=[triton.InferRequestedOutput("OUTPUT1")]),
    "client_gzip": _client(compression_algorithm="gzip"),
    "client_deflate": _client(compression_algorithm="deflate"),
    "client_priority": _client(priority=1),
    "client_timeout": _client(timeout=10_000_000),
    "client_sequence": _client(sequence_id=4, sequence_start=True),
    "client_sequence_text": _client(sequence_id="four", sequence_start=True),
    "client_headers": _client(headers={"x-name": "value"}),
    "client_parameters": _client(parameters={"colour": "blue", "count": 2, "rate": 0.5, "deep": True}),
}


@case
def classes_with_labels(session: Session) -> Answer:
    one = triton.InferInput("SCORES", [2, 4], "FP32")
    one.set_data_from_numpy(np.array([[0.1, 0.4, 0.2, 0.3], [0.9, 0.05, 0.05, 0]], np.float32))
    wanted = [triton.InferRequestedOutput(name, class_count=2) for name in ("CLASSES", "PLAIN", "WHOLE")]
    answer = session.grpc.infer("labels", [one], outputs=wanted)
    names = ("CLASSES", "PLAIN", "WHOLE")
    return {name: [v.decode() for v in answer.as_numpy(name).ravel()] for name in names} | {
        "response": [as_json(one) for one in answer.get_response().outputs]
    }


@case
def client_async(session: Session) -> Answer:
    answers: dict[int, Answer] = {}
    done = threading.Semaphore(0)

    def record(number: int) -> Callable[..., None]:
        def callback(result: Any, error: Any) -> None:
            answers[number] = client_error(error) if error else read(result)
            done.release()

        return callback

    for number in range(4):
        session.grpc.async_infer("add_sub" if number else "nothing", inputs(), record(number), request_id=str(number))
    for _ in range(4):
        done.acquire(timeout=30)
    return [answers[number] for number in sorted(answers)]


@case
def client_aio(session: Session) -> Answer:
    async def main() -> Answer:
        async with triton_aio.InferenceServerClient(session.server.grpc) as client:
            answers = await asyncio.gather(*(client.infer("add_sub", inputs(), request_id=str(n)) for n in range(4)))
            return [
                *(read(one) for one in answers),
                await client.is_server_live(),
                await client.is_model_ready("add_sub"),
                await client.get_model_metadata("add_sub", as_json=True),
            ]

    return asyncio.run(main())


@case
def large_message(session: Session) -> Answer:
    """Sixteen megabytes each way: beyond gRPC's usual limit of four."""
    values = np.zeros((2, 2 * 1024 * 1024), np.float32)
    one = triton.InferInput("FP32", list(values.shape), "FP32")
    one.set_data_from_numpy(values)
    answer = session.grpc.infer("types", [one], outputs=[triton.InferRequestedOutput("OUT_FP32")])
    return list(answer.as_numpy("OUT_FP32").shape)


@case
def raw_bf16(session: Session) -> Answer:
    one = Input(name="B", datatype="BF16", shape=[2])
    return session.call("ModelInfer", request(one, raw=[b"\x80\x3f\x20\xc0"], model_name="packed"))


@case
def client_bf16(session: Session) -> Answer:
    one = triton.InferInput("B", [2], "BF16")
    one.set_data_from_numpy(np.array([1.0, -2.5], ml_dtypes.bfloat16))
    return attempt(lambda: [str(session.grpc.infer("packed", [one]).as_numpy("OUT_B").dtype)])


@case
def deadline(session: Session) -> Answer:
    """A deadline of the client that passes while the model works."""
    one = Input(name="SECONDS", datatype="FP32", shape=[1, 1])
    message = request(one, raw=[struct.pack("<f", 0.5)], model_name="slow")
    try:
        session.stub.ModelInfer(message, timeout=0.1)
    except grpc.RpcError as error:
        return {"code": error.code().name}
    return None
