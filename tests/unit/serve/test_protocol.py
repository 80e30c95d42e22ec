"""Real clients of Triton against the model server, over HTTP."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from millpond.testing.serving import ServedModels, serving_models, write_python_model

# Every datatype, strings and an output that is made of a parameter of the class.
ECHO = """
    class Model:
        def predict(self, inputs):
            return {f"out_{name}": value for name, value in inputs.items()}
"""
TYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64"]
ECHO_CONFIG = "\n".join(
    f'{side} {{ name: "{prefix}{kind.lower()}" data_type: TYPE_{kind} dims: [-1] {more} }}'
    for side, prefix, more in (("input", "", "optional: true"), ("output", "out_", ""))
    for kind in [*TYPES, "STRING", "BF16"]
)
SCORES = """
    import numpy as np

    class Model:
        inputs = {"x": ("FP32", [-1])}
        outputs = {"scores": ("FP32", [-1])}

        def predict(self, inputs):
            return {"scores": inputs["x"] * 2}
"""
SCORES_CONFIG = """
    max_batch_size: 8
    input { name: "x" data_type: TYPE_FP32 dims: [3] }
    output { name: "scores" data_type: TYPE_FP32 dims: [3] label_filename: "labels.txt" }
    dynamic_batching { }
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedModels]:
    root = tmp_path_factory.mktemp("models")
    write_python_model(root, "echo", ECHO, ECHO_CONFIG)
    (write_python_model(root, "scores", SCORES, SCORES_CONFIG) / "labels.txt").write_text("cat\ndog\n")
    with serving_models(root) as served:
        yield served


@pytest.fixture
def client(served: ServedModels) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(served.address) as client:
        yield client


def infer_input(name: str, array: np.ndarray, datatype: str, binary: bool) -> triton.InferInput:
    given = triton.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array, binary_data=binary)
    return given


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
@pytest.mark.parametrize("kind", TYPES)
def test_arrays_of_every_type_come_back_equal(
    client: triton.InferenceServerClient, kind: str, binary_in: bool, binary_out: bool
) -> None:
    # The client sends FP16 as bytes only.
    binary_in = binary_in or kind == "FP16"
    dtype = _numpy(kind)
    array = np.array([0, 1, 1, 0], dtype) if kind == "BOOL" else np.array([0, 1, 100, 7], dtype)
    result = client.infer(
        "echo",
        [infer_input(kind.lower(), array, kind, binary_in)],
        outputs=[triton.InferRequestedOutput(f"out_{kind.lower()}", binary_data=binary_out)],
    )
    got = result.as_numpy(f"out_{kind.lower()}")
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("binary", [True, False])
def test_strings_come_back_equal(client: triton.InferenceServerClient, binary: bool) -> None:
    array = np.array([b"", "grüße".encode(), b"x" * 1000], np.object_)
    outputs = [triton.InferRequestedOutput("out_string", binary_data=binary)]
    got = client.infer("echo", [infer_input("string", array, "BYTES", binary)], outputs=outputs)
    assert [each if isinstance(each, bytes) else each.encode() for each in got.as_numpy("out_string")] == list(array)


def test_bf16_comes_back_equal(client: triton.InferenceServerClient) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    given = triton.InferInput("bf16", [3], "BF16")
    given.set_data_from_numpy(np.array([1.0, -2.5, 3.0e38], ml_dtypes.bfloat16))
    got = client.infer("echo", [given], outputs=[triton.InferRequestedOutput("out_bf16")]).as_numpy("out_bf16")
    np.testing.assert_allclose(got.astype(np.float32), [1.0, -2.5, 3.0e38], rtol=0.01)


@pytest.mark.parametrize("request_form", [None, "gzip", "deflate"])
@pytest.mark.parametrize("response_form", [None, "gzip", "deflate"])
def test_bodies_are_compressed_both_ways(
    client: triton.InferenceServerClient, request_form: str | None, response_form: str | None
) -> None:
    array = np.arange(30_000, dtype=np.float32)
    result = client.infer(
        "echo",
        [infer_input("fp32", array, "FP32", True)],
        outputs=[triton.InferRequestedOutput("out_fp32")],
        request_compression_algorithm=request_form,
        response_compression_algorithm=response_form,
    )
    np.testing.assert_array_equal(result.as_numpy("out_fp32"), array)
    assert result.get_response()["outputs"][0]["parameters"]["binary_data_size"] == 120_000


def test_classes_have_values_indices_and_labels(client: triton.InferenceServerClient) -> None:
    array = np.array([[0.5, 3, 1], [2, 1, 0]], np.float32)
    outputs = [triton.InferRequestedOutput("scores", class_count=2)]
    got = client.infer("scores", [infer_input("x", array, "FP32", True)], outputs=outputs, request_id="r7")
    assert got.as_numpy("scores").tolist() == [
        [b"6.000000:1:dog", b"2.000000:2"],
        [b"4.000000:0:cat", b"2.000000:1:dog"],
    ]
    assert got.get_response()["id"] == "r7"
    assert next(iter(got.get_response())) == "model_name", "a router finds the name at the beginning"


def test_describes_itself_and_its_models(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("scores") and client.is_model_ready("scores", "1")
    assert not client.is_model_ready("scores", "2") and not client.is_model_ready("other")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    metadata = client.get_model_metadata("scores")
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    config = client.get_model_config("scores", "1")
    assert (config["max_batch_size"], config["input"][0]["dims"], config["backend"]) == (8, [3], "python")
    assert config["dynamic_batching"]["preferred_batch_size"] == [8]
    index = client.get_model_repository_index()
    assert {"name": "scores", "version": "1", "state": "READY"} in index


def test_counts_what_it_did(client: triton.InferenceServerClient) -> None:
    def stats() -> dict:
        return client.get_inference_statistics("scores")["model_stats"][0]

    before = stats()
    client.infer("scores", [infer_input("x", np.ones((3, 3), np.float32), "FP32", True)])
    with pytest.raises(InferenceServerException):
        client.infer("scores", [infer_input("x", np.ones((1, 4), np.float32), "FP32", True)])
    after = stats()
    assert after["inference_count"] == before["inference_count"] + 3
    assert after["execution_count"] == before["execution_count"] + 1
    assert after["inference_stats"]["success"]["count"] == before["inference_stats"]["success"]["count"] + 1
    # As in Triton, a request that does not fit its model never reaches it, and is not counted.
    assert after["inference_stats"]["fail"]["count"] == before["inference_stats"]["fail"]["count"]
    assert set(after["inference_stats"]) == {
        "success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss",
    }  # fmt: skip
    assert 3 in [batch["batch_size"] for batch in after["batch_stats"]]
    assert {each["name"] for each in client.get_inference_statistics()["model_stats"]} == {"echo", "scores"}


def test_loads_and_unloads_models_from_files_that_clients_send(client: triton.InferenceServerClient) -> None:
    code = b"class Model:\n    def predict(self, inputs):\n        return {'y': inputs['x'] + 1}\n"
    config = {
        "backend": "python",
        "input": [{"name": "x", "data_type": "TYPE_INT32", "dims": [1]}],
        "output": [{"name": "y", "data_type": "TYPE_INT32", "dims": [1]}],
    }
    client.load_model("plus", config=json.dumps(config), files={"file:1/model.py": code})
    given = [infer_input("x", np.array([41], np.int32), "INT32", True)]
    assert client.infer("plus", given).as_numpy("y").tolist() == [42]
    client.unload_model("plus")
    assert not client.is_model_ready("plus")
    with pytest.raises(InferenceServerException, match="not ready"):
        client.infer("plus", given)
    with pytest.raises(InferenceServerException, match="leads out"):
        client.load_model("evil", config=json.dumps(config), files={"file:../1/model.py": code})
    with pytest.raises(InferenceServerException, match="no such model"):
        client.load_model("missing")


def test_a_model_that_cannot_be_loaded_again_goes_on_serving(
    client: triton.InferenceServerClient,
) -> None:
    with pytest.raises(InferenceServerException, match="ensemble_scheduling"):
        client.load_model("scores", config=json.dumps({"ensemble_scheduling": {"step": []}}))
    given = [infer_input("x", np.ones((1, 3), np.float32), "FP32", True)]
    assert client.infer("scores", given).as_numpy("scores").tolist() == [[2, 2, 2]]


def test_settings_are_kept_and_what_is_not_supported_is_refused(client: triton.InferenceServerClient) -> None:
    assert client.get_trace_settings()["trace_level"] == ["OFF"]
    assert client.update_trace_settings("scores", {"trace_rate": "5"})["trace_rate"] == "5"
    with pytest.raises(InferenceServerException, match="not supported"):
        client.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
    assert client.update_log_settings({"log_verbose_level": 0})["log_verbose_level"] == 0
    assert client.get_log_settings()["log_info"] is True
    assert client.get_system_shared_memory_status() == []
    client.unregister_system_shared_memory()
    with pytest.raises(InferenceServerException, match="shared memory is not supported"):
        client.register_system_shared_memory("region", "/key", 64)


def test_shows_metrics_under_the_names_of_triton(served: ServedModels) -> None:
    with urllib.request.urlopen(f"http://{served.address}/metrics") as answer:
        text = answer.read().decode()
    for name in ("nv_inference_request_success", "nv_inference_count", "nv_inference_queue_duration_us"):
        assert f'{name}{{model="scores",version="1"}}' in text
    assert 'nv_inference_request_failure{model="echo",version="1",reason="BACKEND"} 0' in text


def test_a_token_is_demanded_everywhere(tmp_path: Path) -> None:
    write_python_model(tmp_path, "echo", ECHO)
    with serving_models(tmp_path, token="s3cret") as served, triton.InferenceServerClient(served.address) as client:
        assert not client.is_server_live()
        assert client.is_server_live(headers={"Authorization": "Bearer s3cret"})
        with pytest.raises(InferenceServerException, match="token"):
            client.get_server_metadata(headers={"Authorization": "Bearer other"})


def _numpy(kind: str) -> np.dtype:
    return np.dtype({"BOOL": "bool", "FP16": "float16", "FP32": "float32", "FP64": "float64"}.get(kind, kind.lower()))


def test_base64_of_files_is_checked(client: triton.InferenceServerClient, served: ServedModels) -> None:
    body = json.dumps({"parameters": {"config": "{}", "file:1/model.py": "!" + base64.b64encode(b"x").decode()}})
    request = urllib.request.Request(
        f"http://{served.address}/v2/repository/models/bad/load", body.encode(), method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert (caught.value.code, "base64" in caught.value.read().decode()) == (400, True)


def test_clients_control_models_only_where_they_may(tmp_path: Path) -> None:
    write_python_model(tmp_path, "echo", ECHO)
    with serving_models(tmp_path, control=False) as served, triton.InferenceServerClient(served.address) as client:
        for change in (client.load_model, client.unload_model):
            with pytest.raises(InferenceServerException, match="does not let clients"):
                change("echo")
        assert client.is_model_ready("echo")


def test_large_json_is_read_and_written(client: triton.InferenceServerClient) -> None:
    array = np.linspace(0, 1, 100_000, dtype=np.float64)
    outputs = [triton.InferRequestedOutput("out_fp64", binary_data=False)]
    got = client.infer("echo", [infer_input("fp64", array, "FP64", False)], outputs=outputs)
    np.testing.assert_array_equal(got.as_numpy("out_fp64"), array)
