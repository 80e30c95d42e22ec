"""Models for the benchmark of serving: a small one, and a network of about 13 ms; for each server in its own form."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

FEATURES, CLASSES = 16, 4
CNN_SECONDS = 0.013
CNN_SIDE, CNN_CHANNELS = 64, 32
Floats = NDArray[np.float32]

TRITON_MODEL = """
    import os

    import onnxruntime as ort
    import triton_python_backend_utils as pb_utils


    class TritonPythonModel:
        def initialize(self, args):
            options = ort.SessionOptions()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            here = os.path.dirname(os.path.abspath(__file__))
            self.session = ort.InferenceSession(os.path.join(here, "model.onnx"), options, ["CPUExecutionProvider"])

        def execute(self, requests):
            responses = []
            for request in requests:
                values = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
                (scores,) = self.session.run(["y"], {"x": values})
                responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", scores)]))
            return responses
"""
MLSERVER_MODEL = """
    import onnxruntime as ort
    from mlserver import MLModel
    from mlserver.codecs import NumpyCodec
    from mlserver.types import InferenceRequest, InferenceResponse


    class Onnx(MLModel):
        async def load(self) -> bool:
            options = ort.SessionOptions()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self.session = ort.InferenceSession("model.onnx", options, ["CPUExecutionProvider"])
            return True

        async def predict(self, payload: InferenceRequest) -> InferenceResponse:
            values = NumpyCodec.decode_input(payload.inputs[0])
            (scores,) = self.session.run(["y"], {"x": values})
            outputs = [NumpyCodec.encode_output("y", scores)]
            return InferenceResponse(model_name=self.name, outputs=outputs)
"""


def small_model() -> onnx.ModelProto:
    """Two dense layers on rows of 16 numbers."""
    random = np.random.default_rng(1)
    first = random.standard_normal((FEATURES, 32), dtype=np.float32)
    second = random.standard_normal((32, CLASSES), dtype=np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "second"], ["y"]),
    ]
    weights = [numpy_helper.from_array(first, "first"), numpy_helper.from_array(second, "second")]
    return _model(nodes, weights, ["n", FEATURES], ["n", CLASSES])


def cnn(layers: int) -> onnx.ModelProto:
    """Convolutions over an image, each like the others."""
    random = np.random.default_rng(1)
    nodes, weights, before = [], [], "x"
    for layer in range(layers):
        channels = 3 if layer == 0 else CNN_CHANNELS
        values = random.standard_normal((CNN_CHANNELS, channels, 3, 3), dtype=np.float32) * 0.05
        weights.append(numpy_helper.from_array(values, f"w{layer}"))
        nodes.append(helper.make_node("Conv", [before, f"w{layer}"], [f"c{layer}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"]))
        before = f"r{layer}"
    nodes.append(helper.make_node("GlobalAveragePool", [before], ["y"]))
    return _model(nodes, weights, ["n", 3, CNN_SIDE, CNN_SIDE], ["n", CNN_CHANNELS, 1, 1])


def cnn_of(seconds: float) -> onnx.ModelProto:
    """A network that takes about so long on this machine."""
    run, times = raw_run(cnn(8)), []
    for _ in range(30):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    # Undisturbed by others, which the network itself will not be while it is measured.
    return cnn(max(2, round(8 * seconds / min(times))))


def small_input() -> Floats:
    return np.arange(FEATURES, dtype=np.float32).reshape(1, FEATURES) / FEATURES


def cnn_input() -> Floats:
    return np.ones((1, 3, CNN_SIDE, CNN_SIDE), np.float32)


def raw_seconds(model: onnx.ModelProto, values: Floats, rounds: int) -> float:
    """The median time of onnxruntime alone, with the settings of the server."""
    run = session(model).run
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        run(["y"], {"x": values})
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def raw_run(model: onnx.ModelProto) -> Callable[[], object]:
    """The network by onnxruntime alone, on the input of the benchmark."""
    run, values = session(model).run, cnn_input()
    return lambda: run(["y"], {"x": values})


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def write_repository(root: Path, models: dict[str, onnx.ModelProto]) -> Path:
    """For Millpond: Triton's layout, without configurations."""
    for name, model in models.items():
        (root / name / "1").mkdir(parents=True)
        onnx.save(model, root / name / "1" / "model.onnx")
    return root


def write_triton_repository(root: Path, name: str, model: onnx.ModelProto) -> Path:
    """The same model, run by onnxruntime in Triton's Python backend."""
    (root / name / "1").mkdir(parents=True)
    onnx.save(model, root / name / "1" / "model.onnx")
    (root / name / "1" / "model.py").write_text(dedent(TRITON_MODEL))
    (root / name / "config.pbtxt").write_text(
        f'name: "{name}"\nbackend: "python"\nmax_batch_size: 64\n'
        f'input [ {{ name: "x" data_type: TYPE_FP32 dims: [ {FEATURES} ] }} ]\n'
        f'output [ {{ name: "y" data_type: TYPE_FP32 dims: [ {CLASSES} ] }} ]\n'
    )
    return root


def write_mlserver_folder(root: Path, name: str, model: onnx.ModelProto, ports: list[int], workers: int | None) -> Path:
    """The same model, run by onnxruntime in mlserver: by its workers as it comes, or with 0 in its own process."""
    root.mkdir(parents=True)
    onnx.save(model, root / "model.onnx")
    (root / "runtime.py").write_text(dedent(MLSERVER_MODEL))
    (root / "model-settings.json").write_text(json.dumps({"name": name, "implementation": "runtime.Onnx"}))
    settings = {"host": "127.0.0.1", "debug": False}
    settings |= dict(zip(("http_port", "grpc_port", "metrics_port"), ports, strict=True))
    if workers is not None:
        settings["parallel_workers"] = workers
    (root / "settings.json").write_text(json.dumps(settings))
    return root


def _model(
    nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], inputs: list[object], outputs: list[object]
) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, outputs)
    graph = helper.make_graph(nodes, "model", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model
