"""Every backend of the model server keeps the contract."""

from __future__ import annotations

import warnings
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from millpond.serve.core import ModelServer
from millpond.serve.errors import ServeError
from millpond.serve.request import InferRequest
from millpond.serve.tensors import Tensor
from millpond.testing.model_backends import ModelBackendContract
from millpond.testing.serving import write_onnx_linear, write_python_model

CONFIG = """
    max_batch_size: 16
    input { name: "x" data_type: TYPE_FP32 dims: [4] }
    output { name: "y" data_type: TYPE_FP32 dims: [4] }
    dynamic_batching { }
"""


class TestPython(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        code = """
            class Model:
                def predict(self, inputs):
                    return {"y": inputs["x"] * 2}
        """
        write_python_model(tmp_path, "double", code, CONFIG)
        return tmp_path


class TestTritonPython(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        code = """
            import json
            import numpy as np
            import triton_python_backend_utils as pb_utils

            class TritonPythonModel:
                @staticmethod
                def auto_complete_config(config):
                    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [4]})
                    config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [4]})
                    config.set_max_batch_size(16)
                    config.set_dynamic_batching()
                    return config

                def initialize(self, args):
                    config = json.loads(args["model_config"])
                    entry = pb_utils.get_output_config_by_name(config, "y")
                    self.dtype = pb_utils.triton_string_to_numpy(entry["data_type"])

                def execute(self, requests):
                    responses = []
                    for request in requests:
                        x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
                        x *= 2
                        responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x.astype(self.dtype))]))
                    return responses
        """
        write_python_model(tmp_path, "double", code)
        return tmp_path


class TestOnnx(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
        write_onnx_linear(tmp_path, "double")
        return tmp_path


class TestTorchScript(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        torch = pytest.importorskip("torch")
        folder = tmp_path / "double" / "1"
        folder.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.trace(_double(torch), torch.zeros(2, 4)).save(str(folder / "model.pt"))
        (tmp_path / "double" / "config.pbtxt").write_text(
            dedent(CONFIG).replace('"x"', '"INPUT__0"').replace('"y"', '"OUTPUT__0"')
        )
        return tmp_path


class TestTorchExport(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        torch = pytest.importorskip("torch")
        folder = tmp_path / "double" / "1"
        folder.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = {"x": {0: torch.export.Dim("rows")}}
            program = torch.export.export(_double(torch), (torch.zeros(3, 4),), dynamic_shapes=shapes)
            torch.export.save(program, folder / "model.pt2")
        return tmp_path


class TestScikitLearn(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        linear = pytest.importorskip("sklearn.linear_model")
        joblib = pytest.importorskip("joblib")
        table = np.random.default_rng(0).normal(size=(50, 4))
        folder = tmp_path / "double" / "1"
        folder.mkdir(parents=True)
        joblib.dump(linear.LinearRegression().fit(table, table * 2), folder / "model.joblib")
        return tmp_path


class TestMlflow(ModelBackendContract):
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        _save_mlflow(tmp_path / "double" / "1")
        return tmp_path


def test_a_signature_of_columns_has_an_input_for_each(tmp_path: Path) -> None:
    pytest.importorskip("mlflow.pyfunc")
    from mlflow.models import ModelSignature  # noqa: PLC0415
    from mlflow.types.schema import ColSpec, Schema  # noqa: PLC0415

    inputs = Schema([ColSpec("long", "age"), ColSpec("string", "name")])
    _save_mlflow(tmp_path / "people" / "1", ModelSignature(inputs, Schema([ColSpec("double")])))
    server = ModelServer(tmp_path)
    server.load("people")
    assert [(e["name"], e["datatype"], e["shape"]) for e in server.model_metadata("people")["inputs"]] == [
        ("age", "INT64", [-1, 1]),
        ("name", "BYTES", [-1, 1]),
    ]
    given = (
        Tensor("age", "INT64", np.array([[3], [4]], np.int64)),
        Tensor("name", "BYTES", np.array([[b"ada"], [b"bobby"]], np.object_)),
    )
    assert server.infer_blocking(InferRequest("people", given)).outputs[0].array.tolist() == [6.0, 9.0]
    server.close()


def test_triton_errors_of_one_request_are_its_own(tmp_path: Path) -> None:
    code = """
        import triton_python_backend_utils as pb_utils

        class TritonPythonModel:
            def execute(self, requests):
                error = pb_utils.TritonError("no such patient", pb_utils.TritonError.NOT_FOUND)
                return [pb_utils.InferenceResponse(error=error) for request in requests]
    """
    write_python_model(tmp_path, "fails", code, CONFIG)
    server = ModelServer(tmp_path)
    server.load("fails")
    with pytest.raises(ServeError, match="no such patient") as caught:
        server.infer_blocking(InferRequest("fails", (Tensor("x", "FP32", np.zeros((1, 4), np.float32)),)))
    assert caught.value.status == 404
    server.close()


def test_a_triton_model_asks_another_model(tmp_path: Path) -> None:
    double = "class Model:\n    def predict(self, inputs):\n        return {'y': inputs['x'] * 2}\n"
    write_python_model(tmp_path, "double", double, CONFIG)
    code = """
        import triton_python_backend_utils as pb_utils

        class TritonPythonModel:
            def execute(self, requests):
                responses = []
                for request in requests:
                    inner = pb_utils.InferenceRequest(
                        model_name="double", requested_output_names=["y"], inputs=request.inputs()
                    ).exec()
                    y = pb_utils.get_output_tensor_by_name(inner, "y").as_numpy()
                    responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", y + 1)]))
                return responses
    """
    write_python_model(tmp_path, "outer", code, CONFIG)
    server = ModelServer(tmp_path)
    assert server.load_all() == {}
    answer = server.infer_blocking(InferRequest("outer", (Tensor("x", "FP32", np.ones((1, 4), np.float32)),)))
    assert answer.outputs[0].array.tolist() == [[3, 3, 3, 3]]
    server.close()


def _double(torch):  # type: ignore[no-untyped-def]
    class Double(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x):  # type: ignore[no-untyped-def]
            return x * 2

    return Double().eval()


def _save_mlflow(folder: Path, signature: object = None) -> None:
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    from mlflow.models import infer_signature  # noqa: PLC0415

    if signature is None:
        rows = np.ones((2, 4), np.float32)
        signature = infer_signature(rows, rows)
    code = folder.parent / "code.py"
    folder.parent.mkdir(parents=True)
    code.write_text(MLFLOW_CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyfunc.save_model(str(folder), python_model=str(code), signature=signature, pip_requirements=[])
    code.unlink()


MLFLOW_CODE = """
import mlflow
import numpy as np


class Double(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        if hasattr(model_input, "columns"):
            return np.array(model_input["age"] + model_input["name"].str.len(), float)
        return model_input * 2


mlflow.models.set_model(Double())
"""
