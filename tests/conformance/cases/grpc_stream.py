"""gRPC: ModelStreamInfer, raw and by the client's stream."""

from __future__ import annotations

import queue
import struct
from collections.abc import Callable, Iterable
from typing import Any

import grpc
import tritonclient.grpc as triton

from tests.conformance.cases.grpc_infer import Input, Parameter, inputs, read, request
from tests.conformance.registry import Answer, Session, as_json, case, client_error


def _stream(messages: Iterable[Any]) -> Callable[[Session], Answer]:
    messages = list(messages)

    def ask(session: Session) -> Answer:
        try:
            answers = [as_json(one) for one in session.stub.ModelStreamInfer(iter(messages), timeout=60)]
        except grpc.RpcError as error:
            return {"code": error.code().name, "error": error.details()}
        return [
            {key: bool(value) if key == "error_message" else value for key, value in one.items()} for one in answers
        ]

    return ask


def _one(number: int, **changes: Any) -> Any:
    return request(id=str(number), **changes)


FINAL = {"triton_enable_empty_final_response": Parameter(bool_param=True)}
CASES = {
    "nothing": _stream([]),
    "one": _stream([_one(1)]),
    "one_with_final_flag": _stream([_one(1, parameters=FINAL)]),
    "with_parameters": _stream([_one(1, parameters={"colour": Parameter(string_param="blue")})]),
    "error_then_answer": _stream([_one(1, model_name="nothing"), _one(2)]),
    "bad_shape_then_answer": _stream([_one(1, raw=[b"", b""]), _one(2)]),
    "model_fails": _stream(
        [
            request(
                Input(name="HOW", datatype="BYTES", shape=[1]),
                raw=[struct.pack("<I", 5) + b"error"],
                model_name="failing",
                id="1",
            )
        ]
    ),
}


@case
def many(session: Session) -> Answer:
    """Every answer arrives; their order is free."""
    answers = [as_json(one) for one in session.stub.ModelStreamInfer(iter([_one(n) for n in range(20)]), timeout=60)]
    return sorted(int(one["infer_response"]["id"]) for one in answers)


@case
def client_stream(session: Session) -> Answer:
    answers: queue.Queue[Answer] = queue.Queue()

    def record(result: Any, error: Any) -> None:
        answers.put(client_error(error) if error else read(result))

    client = triton.InferenceServerClient(session.server.grpc)
    client.start_stream(record, headers={"x-name": "value"})
    for number in range(3):
        client.async_stream_infer("add_sub", inputs(), request_id=str(number))
    client.async_stream_infer("add_sub", inputs(), request_id="flag", enable_empty_final_response=True)
    got = [answers.get(timeout=30) for _ in range(4)]
    client.async_stream_infer("nothing", inputs(), request_id="unknown")
    got.append(answers.get(timeout=30))
    client.stop_stream()
    client.close()
    return sorted(got, key=lambda one: str(one.get("response", {}).get("id")))


@case
def client_stream_cancelled(session: Session) -> Answer:
    answers: queue.Queue[Answer] = queue.Queue()
    client = triton.InferenceServerClient(session.server.grpc)
    client.start_stream(lambda result, error: answers.put(client_error(error) if error else result))
    client.stop_stream(cancel_requests=True)
    client.close()
    return [answers.get(timeout=5).get("raised")]
