"""Triton's own client for gRPC against the model server."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

from millpond.serve.core import ModelServer
from millpond.serve.grpc import serve_grpc
from tests.unit.serve.grpc.conftest import KINDS, serving_grpc


def given(name: str, array: np.ndarray[Any, Any], datatype: str) -> triton.InferInput:
    tensor = triton.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array)
    return tensor


def pair(first: float = 1.0) -> list[triton.InferInput]:
    return [given("x", np.array([first, 2.0], np.float32), "FP32")]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_every_type_come_back_equal(client: triton.InferenceServerClient, kind: str) -> None:
    array = np.array([0, 1, 1, 100], triton_to_np_dtype(kind))
    name = f"out_{kind.lower()}"
    wanted = [triton.InferRequestedOutput(name)]
    got = client.infer("echo", [given(kind.lower(), array, kind)], outputs=wanted).as_numpy(name)
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


def test_strings_come_back_equal(client: triton.InferenceServerClient) -> None:
    array = np.array([b"", "grüße".encode(), b"\x00\xff"], np.object_)
    wanted = [triton.InferRequestedOutput("out_string")]
    got = client.infer("echo", [given("string", array, "BYTES")], outputs=wanted)
    assert list(got.as_numpy("out_string")) == list(array)


def test_typed_contents_are_read(served: str) -> None:
    with grpc.insecure_channel(served) as channel:
        call = channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=service_pb2.ModelInferRequest.SerializeToString,
            response_deserializer=service_pb2.ModelInferResponse.FromString,
        )
        request = service_pb2.ModelInferRequest(model_name="double", id="7")
        request.inputs.add(name="x", datatype="FP32", shape=[2]).contents.fp32_contents.extend([1, 2])
        response = call(request)
    assert response.id == "7"
    assert np.frombuffer(response.raw_output_contents[0], np.float32).tolist() == [2, 4]


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_messages_may_be_compressed(client: triton.InferenceServerClient, algorithm: str) -> None:
    assert client.infer("double", pair(), compression_algorithm=algorithm).as_numpy("y").tolist() == [2, 4]


def test_a_stream_answers_each_request_and_outlives_errors(client: triton.InferenceServerClient) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    client.async_stream_infer("nothing", pair(), request_id="unknown")
    client.async_stream_infer("double", pair(-1), request_id="fails")
    client.async_stream_infer("double", pair(), request_id="good")
    got = [answers.get(timeout=30) for _ in range(3)]
    client.stop_stream()
    assert sorted(error.message() for _, error in got if error)[0].startswith("Request for unknown model")
    (good,) = [result for result, error in got if not error]
    assert good.get_response().id == "good"
    assert good.get_response().parameters["triton_final_response"].bool_param


def test_more_streams_than_allowed_are_refused_and_others_go_on(root: Path) -> None:
    with serving_grpc(root, streams=1) as (_, server):
        address = server.address.removeprefix("tcp:")
        first, second = (triton.InferenceServerClient(address) for _ in range(2))
        answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
        first.start_stream(lambda result, error: answers.put((result, error)))
        first.async_stream_infer("double", pair())
        assert answers.get(timeout=30)[1] is None
        second.start_stream(lambda result, error: answers.put((result, error)))
        _, error = answers.get(timeout=30)
        assert "too many streams" in error.message()
        assert second.infer("double", pair()).as_numpy("y").tolist() == [2, 4]
        for each in (first, second):
            each.close()


@pytest.mark.parametrize(
    ("model", "version", "code"),
    [("nothing", "", "NOT_FOUND"), ("double", "9", "NOT_FOUND"), ("double", "one", "INVALID_ARGUMENT")],
)
def test_errors_have_the_codes_of_triton(
    client: triton.InferenceServerClient, model: str, version: str, code: str
) -> None:
    with pytest.raises(InferenceServerException) as raised:
        client.infer(model, pair(), model_version=version)
    assert raised.value.status() == f"StatusCode.{code}"


def test_what_a_model_raises_is_told(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="negative") as raised:
        client.infer("double", pair(-1))
    assert raised.value.status() == "StatusCode.INTERNAL"


def test_shared_memory_is_refused(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="not supported"):
        client.register_system_shared_memory("region", "/key", 64)
    tensor = triton.InferInput("x", [2], "FP32")
    tensor.set_shared_memory("region", 8)
    with pytest.raises(InferenceServerException, match="shared memory"):
        client.infer("double", [tensor])
    client.unregister_system_shared_memory()
    assert client.get_system_shared_memory_status(as_json=True) == {}


def test_models_are_loaded_from_files_in_the_request(client: triton.InferenceServerClient) -> None:
    config = '{"input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [2]}]}'
    code = b"class Model:\n    def predict(self, inputs):\n        return {'y': inputs['x'] * 3}\n"
    client.load_model("sent", config=config, files={"file:1/model.py": code})
    assert client.infer("sent", pair()).as_numpy("y").tolist() == [3, 6]
    client.unload_model("sent")
    assert not client.is_model_ready("sent")


def test_models_are_not_loaded_where_clients_may_not(root: Path) -> None:
    server = ModelServer(root, control=False)
    server.start_empty()
    grpc_server = serve_grpc(server, listen="tcp:127.0.0.1:0")
    with triton.InferenceServerClient(grpc_server.address.removeprefix("tcp:")) as client:
        with pytest.raises(InferenceServerException) as raised:
            client.load_model("double")
        assert raised.value.status() == "StatusCode.PERMISSION_DENIED"
    grpc_server.drain(0)
    server.close()


def test_a_token_is_demanded(root: Path) -> None:
    with serving_grpc(root, token="secret") as (_, server):
        with triton.InferenceServerClient(server.address.removeprefix("tcp:")) as client:
            for headers in ({}, {"authorization": "Bearer other"}):
                with pytest.raises(InferenceServerException, match="token") as raised:
                    client.infer("double", pair(), headers=headers)
                assert raised.value.status() == "StatusCode.UNAUTHENTICATED"
            good = client.infer("double", pair(), headers={"authorization": "Bearer secret"})
        assert good.as_numpy("y").tolist() == [2, 4]


def test_a_unix_socket_is_served(root: Path, tmp_path: Path) -> None:
    where = f"unix:{tmp_path / 'grpc'}"
    with serving_grpc(root, listen=where), triton.InferenceServerClient(where) as client:
        assert client.is_server_ready()


def test_messages_beyond_the_limit_are_refused(root: Path) -> None:
    with serving_grpc(root, most_bytes=10_000) as (_, server):
        client = triton.InferenceServerClient(server.address.removeprefix("tcp:"))
        with pytest.raises(InferenceServerException) as raised:
            client.infer("echo", [given("fp32", np.zeros(5000, np.float32), "FP32")])
        assert raised.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
        assert client.is_server_live()
        client.close()


def test_health_follows_readiness(root: Path) -> None:
    with serving_grpc(root) as (models, server):
        channel = grpc.insecure_channel(server.address.removeprefix("tcp:"))
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"") == b"\x08\x01"
        models.accepting = False
        assert check(b"") == b"\x08\x02"
        channel.close()
