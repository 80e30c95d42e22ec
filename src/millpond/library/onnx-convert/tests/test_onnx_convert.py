"""A converted model answers as before, for any batch; what is not TorchScript is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("torch", reason="needs torch: pip install 'millpond[library]'")
ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
MODEL = HERE / "data" / "model"


def test_the_converted_model_keeps_its_signature(tmp_path: Path) -> None:
    ran = run(HERE.parent, work=tmp_path, inputs={"model": MODEL})
    assert 0 <= ran.outputs["difference"] < 1e-5
    made = ran.path("model")
    assert json.loads((made / "signature.json").read_text()) == json.loads((MODEL / "signature.json").read_text())
    session = ort.InferenceSession(made / "1" / "model.onnx")
    (answer,) = session.run(None, {"input__0": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    assert answer.shape == (3, 2)
    again = tmp_path / "again"
    shutil.copytree(made, again)
    refused = try_run(HERE.parent, work=tmp_path / "w", inputs={"model": again})
    assert "is not TorchScript" in refused.log
