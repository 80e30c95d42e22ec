"""Configurations, versions, warm-up, and what a repository does with models that cannot be served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from millpond.serve.core import ModelServer
from millpond.serve.errors import ServeError
from millpond.serve.repository import ModelFolder
from millpond.serve.request import InferRequest
from millpond.serve.tensors import Tensor
from millpond.testing.serving import write_onnx_linear, write_python_model

CODE = """
    calls = []

    class Model:
        inputs = {"x": ("FP32", [-1])}
        outputs = {"y": ("FP32", [-1])}

        def load(self, path):
            self.path = path

        def predict(self, inputs):
            calls.append(inputs["x"].shape)
            return {"y": inputs["x"] + float(self.path.rsplit("/", 1)[-1])}
"""
X = Tensor("x", "FP32", np.zeros(1, np.float32))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    server = ModelServer(tmp_path)
    yield server
    server.close()


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ("ensemble_scheduling { }", "ensemble_scheduling"),
        ('platform: "ensemble"', "ensemble"),
        ("sequence_batching { }", "sequence_batching"),
        ("model_transaction_policy { decoupled: true }", "decoupled"),
        ("response_cache { enable: true }", "response_cache"),
        ("dynamic_batching { priority_levels: 2 }", "priority_levels"),
        ("dynamic_batching { preserve_ordering: true } instance_group { count: 2 }", "preserve_ordering"),
        ('batch_input { kind: BATCH_ELEMENT_COUNT target_name: "n" }', "batch_input"),
        ('input { name: "x" data_type: TYPE_FP32 dims: 1 allow_ragged_batch: true }', "allow_ragged_batch"),
        ('name: "other"', "names it 'other'"),
        ("max_batch_size: -1", "max_batch_size"),
        ("dynamic_batching { }", "needs max_batch_size"),
        ("max_batch_size: 4 dynamic_batching { preferred_batch_size: 8 }", "preferred_batch_size"),
        ("no_such_key: 1", "no_such_key"),
        ("max_batch_size: [", "config.pbtxt"),
        ('input { name: "x" data_type: TYPE_FP32 dims: 0 }', "dims"),
        ('input { name: "x" dims: 1 }', "data_type"),
        ("input { data_type: TYPE_FP32 dims: 1 }", "name"),
        ('backend: "tensorrt"', "tensorrt"),
        ('default_model_filename: "other.py"', "other.py"),
        ("version_policy { specific { versions: 7 } }", "version 7"),
    ],
)
def test_says_what_a_configuration_may_not_have(tmp_path: Path, server: ModelServer, config: str, word: str) -> None:
    write_python_model(tmp_path, "m", CODE, config)
    with pytest.raises(ServeError) as caught:
        server.load("m")
    assert (caught.value.status, word in caught.value.message) == (400, True), caught.value.message
    assert not server.is_model_ready("m")


@pytest.mark.parametrize(
    ("policy", "versions"),
    [
        ("", ["10"]),
        ("version_policy { latest { num_versions: 2 } }", ["2", "10"]),
        ("version_policy { all { } }", ["1", "2", "10"]),
        ("version_policy { specific { versions: [1, 2] } }", ["1", "2"]),
    ],
)
def test_serves_the_versions_of_its_policy(
    tmp_path: Path, server: ModelServer, policy: str, versions: list[str]
) -> None:
    for version in (1, 2, 10):
        write_python_model(tmp_path, "m", CODE, policy, version=version)
    (tmp_path / "m" / "02").mkdir()
    (tmp_path / "m" / "notes").mkdir()
    server.load("m")
    assert server.model_metadata("m")["versions"] == versions
    newest = server.infer_blocking(InferRequest("m", (X,)))
    assert (newest.version, newest.outputs[0].array.tolist()) == (versions[-1], [float(versions[-1])])
    assert server.infer_blocking(InferRequest("m", (X,), versions[0])).version == versions[0]
    with pytest.raises(ServeError, match="version 3"):
        server.infer_blocking(InferRequest("m", (X,), "3"))


def test_a_folder_may_be_one_version_under_a_number_of_its_own(tmp_path: Path) -> None:
    write_python_model(tmp_path, "m", CODE)
    # A policy speaks of the numbers in the folder.
    (tmp_path / "m" / "config.pbtxt").write_text("version_policy { specific { versions: 1 } }")
    server = ModelServer(models={"chest": ModelFolder("chest", tmp_path / "m", 7)})
    assert server.load_all() == {}
    assert server.infer_blocking(InferRequest("chest", (X,))).version == "7"
    server.close()
    bare = ModelServer(models={"bare": ModelFolder("bare", tmp_path / "m" / "1")})
    assert bare.load_all() == {}
    assert bare.infer_blocking(InferRequest("bare", (X,))).version == "1"
    bare.close()


def test_warms_up_before_it_is_ready(tmp_path: Path, server: ModelServer) -> None:
    config = """
        max_batch_size: 4
        input { name: "x" data_type: TYPE_FP32 dims: [3] }
        output { name: "y" data_type: TYPE_FP32 dims: [3] }
        model_warmup { name: "zeros" batch_size: 2 count: 3
          inputs { key: "x" value { data_type: TYPE_FP32 dims: [3] zero_data: true } } }
        model_warmup { name: "file" batch_size: 1
          inputs { key: "x" value { data_type: TYPE_FP32 dims: [3] input_data_file: "sample" } } }
    """
    folder = write_python_model(tmp_path, "m", CODE, config)
    with pytest.raises(ServeError, match="sample"):
        server.load("m")
    assert server.index() == [
        {"name": "m", "version": "1", "state": "UNAVAILABLE", "reason": server.index()[0]["reason"]}
    ]
    (folder / "warmup").mkdir()
    (folder / "warmup" / "sample").write_bytes(np.ones(3, np.float32).tobytes())
    server.load("m")
    statistics = server.statistics("m")["model_stats"][0]
    assert (statistics["execution_count"], statistics["inference_count"]) == (4, 7)


def test_reshapes_between_client_and_model(tmp_path: Path, server: ModelServer) -> None:
    code = """
        class Model:
            def predict(self, inputs):
                assert inputs["x"].ndim == 1, inputs["x"].shape
                return {"y": inputs["x"]}
    """
    config = """
        max_batch_size: 4
        input { name: "x" data_type: TYPE_FP32 dims: [1] reshape { shape: [] } }
        output { name: "y" data_type: TYPE_FP32 dims: [1] reshape { shape: [] } }
    """
    write_python_model(tmp_path, "m", code, config)
    server.load("m")
    rows = Tensor("x", "FP32", np.array([[1], [2]], np.float32))
    assert server.infer_blocking(InferRequest("m", (rows,))).outputs[0].array.tolist() == [[1], [2]]


def test_reads_json_configurations_and_says_what_is_missing(tmp_path: Path, server: ModelServer) -> None:
    folder = write_python_model(tmp_path, "m", CODE)
    (folder / "config.json").write_text(
        '{"maxBatchSize": 3, "input": [{"name": "x", "dataType": "TYPE_FP32", "dims": [2]}]}'
    )
    server.load("m")
    assert (server.model_config("m")["max_batch_size"], server.model_config("m")["input"][0]["dims"]) == (3, [2])
    (folder / "config.json").write_text("{")
    with pytest.raises(ServeError, match=r"config\.json"):
        server.load("m")
    assert server.is_model_ready("m"), "the version that served goes on"
    (tmp_path / "empty" / "1").mkdir(parents=True)
    with pytest.raises(ServeError, match=r"model\.onnx"):
        server.load("empty")
    errors = server.load_all()
    assert set(errors) == {"m", "empty"}
    assert server.is_ready()


def test_a_python_model_without_a_config_takes_any_input(tmp_path: Path, server: ModelServer) -> None:
    write_python_model(
        tmp_path, "m", "class Model:\n    def predict(self, inputs):\n        return {'n': [len(inputs)]}\n"
    )
    server.load("m")
    answer = server.infer_blocking(InferRequest("m", (X, X._replace(name="z"))))
    assert (answer.outputs[0].name, answer.outputs[0].datatype, answer.outputs[0].array.tolist()) == ("n", "INT64", [2])


def test_a_config_of_an_onnx_model_is_compared_with_it(tmp_path: Path, server: ModelServer) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = write_onnx_linear(tmp_path, "m")
    for config, word in (
        ('input { name: "z" data_type: TYPE_FP32 dims: 4 }', "input 'z'"),
        ('input { name: "x" data_type: TYPE_INT8 dims: 4 }', "INT8"),
        ('output { name: "z" data_type: TYPE_FP32 dims: 4 }', "output 'z'"),
    ):
        (folder / "config.pbtxt").write_text(f"max_batch_size: 2 {config}")
        with pytest.raises(ServeError, match=word):
            server.load("m")
    (folder / "config.pbtxt").write_text("max_batch_size: 2")
    server.load("m")
    assert server.model_config("m")["input"][0]["dims"] == [4]
