"""Requests that fit nothing: each has its status and reason, and the server goes on."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millpond.serve.http import Limits
from millpond.testing.serving import ServedModels, serving_models, write_python_model

CODE = """
    import numpy as np

    class Model:
        def predict(self, inputs):
            if "x" in inputs and inputs["x"][0, 0] == 13:
                raise ValueError("thirteen")
            return {"y": inputs.get("x"), "t": inputs.get("s")}
"""
CONFIG = """
    max_batch_size: 4
    input { name: "x" data_type: TYPE_FP32 dims: [2] optional: true }
    input { name: "s" data_type: TYPE_STRING dims: [1] optional: true }
    output { name: "y" data_type: TYPE_FP32 dims: [2] }
    output { name: "t" data_type: TYPE_STRING dims: [1] }
"""
STRICT = CONFIG.replace("optional: true", "")
X = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}
OUT = [{"name": "y"}]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedModels]:
    root = tmp_path_factory.mktemp("models")
    write_python_model(root, "m", CODE, CONFIG)
    write_python_model(root, "strict", CODE, STRICT)
    with serving_models(root, limits=Limits(body_bytes=100_000, header_seconds=5, body_seconds=5)) as served:
        yield served


def post(
    served: ServedModels, path: str, body: bytes, headers: dict[str, str] | None = None, method: str = "POST"
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(served.address, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def refused(served: ServedModels, body: object, model: str = "m", **headers: str) -> tuple[int, str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    status, _, answer = post(served, f"/v2/models/{model}/infer", raw, given)
    return status, json.loads(answer)["error"]


def works(served: ServedModels) -> bool:
    status, _, body = post(served, "/v2/models/m/infer", json.dumps({"inputs": [X], "outputs": OUT}).encode())
    return status == 200 and json.loads(body)["outputs"][0]["data"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"data": [1]}, "shape needs 2"),
        ({"data": [1, 2, 3]}, "shape needs 2"),
        ({"data": [[1], [2, 3]]}, "shape needs 2"),
        ({"data": [[1], 2]}, "mixes"),
        ({"data": ["1", "2"]}, "FP32"),
        ({"data": [True, False]}, "FP32"),
        ({"data": [None, 1]}, "FP32"),
        ({"data": [1e39, 1]}, "does not fit"),
        ({"data": {"a": 1}}, "must be a list"),
        ({"data": "12"}, "must be a list"),
        ({"shape": [1, -2]}, "from 0 on"),
        ({"shape": [-1, -2]}, "from 0 on"),
        ({"shape": [1.0, 2]}, "from 0 on"),
        ({"shape": [True, 2]}, "from 0 on"),
        ({"shape": "12"}, "no shape"),
        ({"shape": [2**62, 2**62]}, "too large"),
        ({"shape": [1] * 40}, "at most 32"),
        ({"shape": []}, "shape needs 1"),
        ({"shape": [0, 2], "data": []}, "from 1 to 4"),
        ({"shape": [5, 2], "data": [0] * 10}, "from 1 to 4"),
        ({"shape": [2, 1]}, "expects [-1, 2]"),
        ({"shape": [2]}, "expects [-1, 2]"),
        ({"datatype": "FP64"}, "expects FP32"),
        ({"datatype": "INT32"}, "expects FP32"),
        ({"datatype": "FP31"}, "not one of"),
        ({"datatype": None}, "no datatype"),
        ({"name": "z"}, "unexpected inference input 'z'"),
        ({"name": ""}, "no name"),
        ({"name": 7}, "no name"),
        ({"parameters": []}, "JSON object"),
        ({"parameters": {"binary_data_size": 8}}, "both data"),
        ({"parameters": {"shared_memory_region": "r"}}, "shared memory"),
    ],
)
def test_an_input_that_does_not_fit(served: ServedModels, change: dict[str, Any], word: str) -> None:
    status, error = refused(served, {"inputs": [{**X, **change}]})
    assert (status, word in error) == (400, True), error


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[]", "JSON object"),
        (b"{}", "no inputs"),
        (b'{"inputs": []}', "no inputs"),
        (b'{"inputs": [3]}', "JSON object"),
        (b'{"inputs": [{"name":"x","shape":[1,2],"datatype":"FP32","data":[NaN,1]}]}', "JSON"),
        (b'{"inputs": [{"name":"x","shape":[1,2],"datatype":"FP32","data":[1e999,1]}]}', ""),
        (b"[" * 100_000, "JSON"),
        (b"\xff\xfe", "JSON"),
        ({"inputs": [X, X]}, "more than once"),
        ({"inputs": [{key: value for key, value in X.items() if key != "data"}]}, "no data"),
        ({"inputs": [X], "id": 7}, "id"),
        ({"inputs": [X], "outputs": "y"}, "list"),
        ({"inputs": [X], "outputs": [{}]}, "name"),
        ({"inputs": [X], "outputs": [{"name": "other"}]}, "unexpected inference output"),
        ({"inputs": [X], "outputs": [{"name": "y", "parameters": {"classification": -1}}]}, "classification"),
        ({"inputs": [X], "outputs": [{"name": "y", "parameters": {"binary_data": 1}}]}, "true or false"),
        ({"inputs": [X], "outputs": [{"name": "y", "parameters": {"shared_memory_region": "r"}}]}, "shared"),
        ({"inputs": [X], "parameters": {"timeout": "soon"}}, "timeout"),
    ],
)
def test_a_request_that_is_none(served: ServedModels, body: object, word: str) -> None:
    status, error = refused(served, body)
    assert (status, word in error) == (400, True), error


def test_missing_inputs_are_named(served: ServedModels) -> None:
    assert refused(served, {"inputs": [X]}, "strict") == (
        400,
        "expected 2 inputs but got 1 inputs for model 'strict': missing s",
    )


def binary(size: int, shape: list[int], data: bytes, datatype: str = "FP32", name: str = "x") -> tuple[bytes, int]:
    entry = {"name": name, "shape": shape, "datatype": datatype, "parameters": {"binary_data_size": size}}
    head = json.dumps({"inputs": [entry], "outputs": OUT if name == "x" else [{"name": "t"}]}).encode()
    return head + data, len(head)


@pytest.mark.parametrize(
    ("size", "shape", "data", "datatype", "name", "word"),
    [
        (9, [1, 2], b"\0" * 8, "FP32", "x", "8 bytes left"),
        (10**15, [1, 2], b"\0" * 8, "FP32", "x", "8 bytes left"),
        (-1, [1, 2], b"\0" * 8, "FP32", "x", "from 0 on"),
        (4, [1, 2], b"\0" * 4, "FP32", "x", "need 8"),
        (8, [1, 2], b"\0" * 12, "FP32", "x", "belong to no input"),
        (4, [1, 1], struct.pack("<I", 4_000_000_000), "BYTES", "s", "more than there are"),
        (8, [1, 1], struct.pack("<I", 1) + b"abcd", "BYTES", "s", "after its 1"),
        (2, [1, 1], b"ab", "BYTES", "s", "too few"),
        (8, [2**40, 1], b"\0" * 8, "BYTES", "s", "too few"),
    ],
)
def test_binary_data_that_lies(
    served: ServedModels, size: int, shape: list[int], data: bytes, datatype: str, name: str, word: str
) -> None:
    body, head = binary(size, shape, data, datatype, name)
    status, error = refused(served, body, Inference_Header_Content_Length=str(head))
    assert (status, word in error) == (400, True), error


@pytest.mark.parametrize("length", ["-1", "x", "999999", "3", ""])
def test_a_header_length_that_lies(served: ServedModels, length: str) -> None:
    body, _ = binary(8, [1, 2], b"\0" * 8)
    status, _ = refused(served, body, Inference_Header_Content_Length=length)
    assert status == 400


def test_paths_and_methods(served: ServedModels) -> None:
    for method, path, expected in (
        ("POST", "/v2/models/none/infer", 404),
        ("POST", "/v2/models/m/versions/9/infer", 404),
        ("POST", "/v2/models/m/versions/x/infer", 404),
        ("POST", "/v2/models/m/versions/99999999999999999999/infer", 400),
        ("GET", "/v2/models/m/infer", 405),
        ("GET", "/v2/models/none", 404),
        ("GET", "/v2/models/m/other", 404),
        ("GET", "/v2/other", 404),
        ("GET", "/", 404),
        ("DELETE", "/v2", 405),
        ("POST", "/v2/repository/index", 200),
        ("GET", "/v2/repository/index", 405),
        ("POST", "/v2/repository/models/none/unload", 200),
    ):
        body = json.dumps({"inputs": [X]}).encode() if path.endswith("infer") and method == "POST" else b""
        status, _, answer = post(served, path, body, method=method)
        assert status == expected, (path, answer)
        if status != 200:
            assert json.loads(answer)["error"]


def test_large_and_compressed_bodies_are_refused_by_size(served: ServedModels) -> None:
    assert refused(served, b"x" * 100_001)[0] == 413
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    assert refused(served, bomb, Content_Encoding="gzip")[0] == 413
    assert works(served)


def test_an_error_of_the_model_is_told_and_does_not_end_it(served: ServedModels) -> None:
    status, error = refused(served, {"inputs": [{**X, "data": [13, 0]}]})
    assert (status, error) == (500, "the model failed: ValueError: thirteen")
    assert works(served)


def test_a_slow_client_does_not_keep_others_waiting(served: ServedModels) -> None:
    host, _, port = served.address.rpartition(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        assert works(served)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
datatypes = st.sampled_from(["FP32", "BYTES", "INT8", "UINT64", "BOOL", "FP16", "BF16", "x"])
tensors = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["x", "s", "z"]),
        "shape": st.lists(st.integers(-2, 5) | st.sampled_from([2**31, 2**63]), max_size=3) | json_values,
        "datatype": datatypes | json_values,
    },
    optional={
        "data": json_values | st.lists(st.integers(-3, 300), max_size=10),
        "parameters": st.dictionaries(st.sampled_from(["binary_data_size", "y"]), st.integers(-1, 40)) | json_values,
    },
)
requests = st.fixed_dictionaries(
    {"inputs": st.lists(tensors, max_size=3) | json_values},
    optional={"outputs": json_values, "parameters": json_values, "id": json_values},
)


@given(call=requests, tail=st.binary(max_size=40), lie=st.integers(-3, 3) | st.none())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_request_gets_an_answer(served: ServedModels, call: dict[str, Any], tail: bytes, lie: int | None) -> None:
    """Whatever a body says, its answer is JSON with a status of the protocol, and the next request is served."""
    head = json.dumps(call).encode()
    headers = {} if lie is None else {"Inference-Header-Content-Length": str(len(head) + lie)}
    status, _, body = post(served, "/v2/models/m/infer", head + tail, headers)
    assert status in (200, 400, 500)
    if status == 500:
        assert "model" in json.loads(body)["error"] or "output" in json.loads(body)["error"]
    assert works(served)


@given(
    chunks=st.lists(
        st.binary(max_size=60) | st.sampled_from([b"GET / HTTP/1.1\r\n", b"\r\n", b"0\r\n\r\n"]), max_size=6
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_on_a_connection_hurt_only_it(served: ServedModels, chunks: list[bytes]) -> None:
    host, _, port = served.address.rpartition(":")
    with socket.create_connection((host, int(port))) as wire:
        for chunk in chunks:
            try:
                wire.sendall(chunk)
            except OSError:
                break
    assert works(served)
