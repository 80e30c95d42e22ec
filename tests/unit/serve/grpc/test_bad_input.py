"""Messages that no client sends: each is answered by a code, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

INFER = "/inference.GRPCInferenceService/ModelInfer"
REFUSED = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
Input = service_pb2.ModelInferRequest.InferInputTensor


@pytest.fixture(scope="module")
def channel(served: str) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(served) as channel:
        yield channel


def code_of(channel: grpc.Channel, message: bytes) -> grpc.StatusCode:
    try:
        channel.unary_unary(INFER)(message, timeout=30)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def request(*raw: bytes, **changes: Any) -> Any:
    tensor = {"name": "x", "datatype": "FP32", "shape": [2]} | changes
    return service_pb2.ModelInferRequest(model_name="double", inputs=[Input(**tensor)], raw_input_contents=list(raw))


@pytest.mark.parametrize(
    "message",
    [
        service_pb2.ModelInferRequest(),
        service_pb2.ModelInferRequest(model_name="double"),
        request(),
        request(b""),
        request(b"1234567"),
        request(b"12345678", b"12345678"),
        request(b"12345678", shape=[-2]),
        request(b"12345678", shape=[2**62, 2**62]),
        request(b"12345678", shape=[1] * 100),
        request(b"12345678", datatype="FP31"),
        request(b"12345678", datatype=""),
        request(b"12345678", name="z"),
        request(datatype="FP16", contents={"fp32_contents": [1, 2]}),
        request(contents={"int_contents": [1, 2]}),
        request(contents={"fp32_contents": [1]}),
        request(b"\xff\xff\xff\xff", name="string", datatype="BYTES"),
    ],
)
def test_requests_that_contradict_themselves_are_refused(channel: grpc.Channel, message: Any) -> None:
    assert code_of(channel, message.SerializeToString()) in REFUSED


def test_bytes_that_are_no_message_are_refused(channel: grpc.Channel) -> None:
    assert code_of(channel, b"\xff\xff\xff\xff") is grpc.StatusCode.INTERNAL


TENSORS = st.builds(
    Input,
    name=st.sampled_from(["x", "fp32", "string", ""]),
    datatype=st.sampled_from(["FP32", "BYTES", "INT8", "BF16", "?"]),
    shape=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 3), max_size=4),
    contents=st.none()
    | st.builds(
        service_pb2.InferTensorContents,
        fp32_contents=st.lists(st.floats(width=32), max_size=3),
        int_contents=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        bytes_contents=st.lists(st.binary(max_size=5), max_size=3),
    ),
)
REQUESTS = st.builds(
    service_pb2.ModelInferRequest,
    model_name=st.sampled_from(["double", "echo", "nothing", ""]),
    model_version=st.sampled_from(["", "1", "2", "-1", "x", "9" * 40]),
    inputs=st.lists(TENSORS, max_size=3),
    raw_input_contents=st.lists(st.binary(max_size=20), max_size=3),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=REQUESTS)
def test_no_request_is_an_error_of_the_server(channel: grpc.Channel, message: Any) -> None:
    code = code_of(channel, message.SerializeToString())
    # The model itself refuses negative numbers, which is an internal error as Triton tells it.
    assert code in REFUSED | {grpc.StatusCode.OK} or (
        code is grpc.StatusCode.INTERNAL and message.model_name == "double"
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.binary(max_size=60))
def test_no_bytes_stop_the_server(channel: grpc.Channel, message: bytes) -> None:
    assert code_of(channel, message) in REFUSED | {grpc.StatusCode.INTERNAL}
