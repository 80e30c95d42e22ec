"""Training works, goes on exactly after a kill, is shared by processes, and saves a model that can be served."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.components import ComponentRun, run, try_run

torch = pytest.importorskip("torch", reason="needs torch: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
IMAGES = {"images": HERE / "data"}
SMALL = {"depth": 18, "batch_size": 8, "image_height": 16, "image_width": 16, "image_color": "grayscale"}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other: more threads than cores only wait for each other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def train(work: Path, **params: Any) -> ComponentRun:
    return run(HERE.parent, work=work, inputs=IMAGES, params=SMALL | params)


def weights(work: Path) -> dict[str, Any]:
    return torch.load(work / "checkpoint" / "state.pt", weights_only=True)["network"]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def start(work: Path, params: dict[str, Any], **more: str) -> subprocess.Popen[bytes]:
    """The component as a process that can be killed."""
    defaults = json.loads((work / "params.json").read_text()) if (work / "params.json").exists() else {}
    for folder in ("output", "checkpoint"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "params.json").write_text(json.dumps(defaults | params))
    given = {
        "MILL_PARAMS": str(work / "params.json"), "MILL_OUTPUT": str(work / "output"),
        "MILL_VALUES": str(work / "values.json"), "MILL_CHECKPOINT": str(work / "checkpoint"),
        **{f"MILL_INPUT_{name.upper()}": str(path) for name, path in IMAGES.items()},
    }  # fmt: skip
    with (work / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "train"], cwd=HERE.parent, env=os.environ | given | more, stdout=log, stderr=log
        )


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_training_that_was_ended_goes_on_exactly(tmp_path: Path, how: signal.Signals) -> None:
    params = {"epochs": 3, "checkpoint_steps": 1, "augment": True}
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train(whole, **params)
    given = json.loads((whole / "params.json").read_text())
    cut.mkdir()
    process = start(cut, given)
    # Somewhere after the first step, wherever that is by then.
    while not (cut / "checkpoint" / "state.pt").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(how)
    code = process.wait()
    resumed = train(cut, **params)
    if code:  # else it had ended before
        assert code == (-signal.SIGKILL if how is signal.SIGKILL else 143)
        assert "resumed after epoch" in resumed.log
    assert same(weights(whole), weights(cut))
    history = [
        json.loads((work / "output" / "metrics" / "metrics.json").read_text())["history"] for work in (whole, cut)
    ]
    assert history[0] == history[1] and [one["epoch"] for one in history[0]] == [1, 2, 3]


def test_several_processes_train_one_network(tmp_path: Path) -> None:
    train(tmp_path / "one", epochs=1)
    given = json.loads((tmp_path / "one" / "params.json").read_text())
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    work = tmp_path / "two"
    work.mkdir()
    started = [start(work, given, RANK=str(rank), **told) for rank in range(2)]
    assert [process.wait() for process in started] == [0, 0], (work / "log.txt").read_text()
    assert "processes: 2" in (work / "log.txt").read_text()
    metrics = json.loads((work / "output" / "metrics" / "metrics.json").read_text())
    assert sum(map(sum, metrics["confusion_matrix"])) == metrics["images"]["val"] == 4
    assert (work / "output" / "model" / "1" / "model.pt").exists()


def test_the_model_is_served_as_its_signature_says_and_trains_on(tmp_path: Path) -> None:
    first = train(tmp_path / "first", epochs=1, steps_per_epoch=1, val_size=0, precision="amp")
    model = first.path("model")
    signature = json.loads((model / "signature.json").read_text())
    assert signature["classes"] == ["left", "right"] and signature["inputs"][0]["shape"] == [-1, 1, 16, 16]
    assert "Touch Bar Shot.png lies among the class folders" in first.log
    with pytest.warns(DeprecationWarning):
        answer = torch.jit.load(model / "1" / "model.pt")(torch.rand(3, 1, 16, 16))
    assert answer.shape == (3, 2) and torch.allclose(answer.sum(1), torch.ones(3))
    params = SMALL | {
        "epochs": 4,
        "patience": 1,
        "output_model": "model.onnx",
        "lr": 1e-9,
        "hidden_layer_activation": "silu",
    }
    inputs = IMAGES | {"start": model, "data_test": HERE / "data"}
    second = run(HERE.parent, work=tmp_path / "second", inputs=inputs, params=params)
    assert "tensors taken over" in second.log
    metrics = json.loads((second.path("metrics") / "metrics.json").read_text())
    assert metrics["test_accuracy"] == second.outputs["accuracy"] and metrics["epochs"] <= 4
    ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'millpond[library]'")
    session = ort.InferenceSession(second.path("model") / "1" / "model.onnx")
    (probabilities,) = session.run(None, {"input__0": torch.rand(5, 1, 16, 16).numpy()})
    assert probabilities.shape == (5, 2)


@pytest.mark.parametrize(
    ("params", "words"),
    [({"output_model": "model.h5"}, "ends in .pt or .onnx"), ({"conv_height": 2}, "must be odd")],
)
def test_what_cannot_be_trained_says_why(tmp_path: Path, params: dict[str, Any], words: str) -> None:
    ran = try_run(HERE.parent, work=tmp_path, inputs=IMAGES, params=SMALL | params)
    assert ran.problem == "exit code 1" and words in ran.log and "Traceback" not in ran.log


def test_networks_have_the_usual_number_of_weights() -> None:
    """Of the published networks for 1,000 classes."""
    code = (
        "import network as n;"
        "print([sum(p.numel() for p in n.ResNet(n.Shape(d, 1000)).parameters()) for d in (18, 34, 50)])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[11689512, 21797672, 25557032]"
