"""What runs a model, by the names of its files."""

from __future__ import annotations

import pytest

from millpond.decide.model_backend import backend_of
from millpond.errors import Invalid


@pytest.mark.parametrize(
    ("paths", "backend"),
    [
        (["config.pbtxt", "1/model.onnx"], "onnxruntime"),
        (["1/model.pt", "labels.txt"], "pytorch"),
        (["3/model.pt2"], "pytorch"),
        (["model.joblib"], "sklearn"),
        (["1/model.py", "1/weights/model.onnx"], "python"),
        (["MLmodel", "model.pkl", "python_env.yaml"], "mlflow"),
    ],
)
def test_files_name_the_backend(paths: list[str], backend: str) -> None:
    assert backend_of("m@1", paths) == backend


@pytest.mark.parametrize("paths", [[], ["weights.bin"], ["sub/deep/model.onnx"], ["model.pkl"]])
def test_what_cannot_be_run_is_refused(paths: list[str]) -> None:
    with pytest.raises(Invalid, match="m@1 has no model that can be run"):
        backend_of("m@1", paths)
