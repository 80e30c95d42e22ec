"""Lanes are learned, the same by any number of processes; a training that was ended goes on exactly."""

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

from millpond.testing.components import run, try_run

torch = pytest.importorskip("torch", reason="needs torch: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
SMALL: dict[str, Any] = {
    "pictures": 36,
    "val_pictures": 6,
    "image_height": 32,
    "image_width": 64,
    "channels": 4,
    "batch_size": 12,
    "epochs": 2,
}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other: more threads than cores only wait for each other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def state(work: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(work / "checkpoint" / "state.pt", weights_only=True)
    return found


def history(work: Path) -> list[dict[str, float]]:
    told = json.loads((work / "output" / "metrics" / "metrics.json").read_text())["history"]
    return [{name: value for name, value in one.items() if name != "pictures_per_s"} for one in told]


def start(work: Path, params: dict[str, Any], **more: str) -> subprocess.Popen[bytes]:
    """The component as a process that can be killed, or one of several."""
    for folder in ("output", "checkpoint"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "params.json").write_text(json.dumps(params))
    given = {
        "MILL_PARAMS": str(work / "params.json"), "MILL_OUTPUT": str(work / "output"),
        "MILL_VALUES": str(work / "values.json"), "MILL_CHECKPOINT": str(work / "checkpoint"),
    }  # fmt: skip
    with (work / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "train"], cwd=HERE.parent, env=os.environ | given | more, stdout=log, stderr=log
        )


def all_params(tmp_path: Path, **params: Any) -> dict[str, Any]:
    """With the defaults filled in, after a training in one process."""
    run(HERE.parent, work=tmp_path, params=SMALL | params)
    found: dict[str, Any] = json.loads((tmp_path / "params.json").read_text())
    return found


@pytest.mark.long
def test_three_processes_go_the_way_of_one(tmp_path: Path) -> None:
    params = all_params(tmp_path / "one")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    told = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    work = tmp_path / "three"
    work.mkdir()
    started = [start(work, params, RANK=str(rank), **told) for rank in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0], (work / "log.txt").read_text()
    assert "processes: 3" in (work / "log.txt").read_text()
    one, three = history(tmp_path / "one"), history(work)
    assert len(one) == len(three) == 2
    for alone, together in zip(one, three, strict=True):
        assert together == pytest.approx(alone, rel=1e-4)
    assert one[1]["loss"] < one[0]["loss"]


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_a_training_that_was_ended_goes_on_exactly(tmp_path: Path, how: signal.Signals) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    params = all_params(whole, checkpoint_steps=1)
    cut.mkdir()
    process = start(cut, params)
    # Somewhere after the first step, wherever that is by then.
    while not (cut / "checkpoint" / "state.pt").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(how)
    code = process.wait()
    resumed = run(HERE.parent, work=cut, params=SMALL | {"checkpoint_steps": 1})
    if code:  # else it had ended before
        assert code == (-signal.SIGKILL if how is signal.SIGKILL else 143)
        assert "resumed after epoch" in resumed.log
    ended, gone_on = state(whole)["network"], state(cut)["network"]
    assert all(torch.equal(ended[name], gone_on[name]) for name in ended)
    assert history(whole) == history(cut)


def test_the_model_answers_as_its_signature_says(tmp_path: Path) -> None:
    ran = run(HERE.parent, work=tmp_path, params=SMALL | {"epochs": 1, "passing": False})
    assert "the pictures are drawn by this component, and are no photographs" in ran.log
    model = ran.path("model")
    signature = json.loads((model / "signature.json").read_text())
    assert signature["inputs"][0]["shape"] == [-1, 3, 32, 64] and signature["outputs"][0]["shape"] == [-1, 5, 32, 64]
    with pytest.warns(DeprecationWarning):
        answer = torch.jit.load(model / "1" / "model.pt")(torch.rand(3, 3, 32, 64))
    assert answer.shape == (3, 5, 32, 64) and torch.allclose(answer.sum(1), torch.ones(3, 32, 64))
    assert 0 <= ran.outputs["accuracy"] <= 1


def tusimple(folder: Path, count: int) -> Path:
    """A straight lane in the middle, and one that only begins."""
    from PIL import Image, ImageDraw  # noqa: PLC0415

    (folder / "clips").mkdir(parents=True)
    lines = []
    for number in range(count):
        picture = Image.new("RGB", (128, 72), (90, 90, 90))
        ImageDraw.Draw(picture).line([(64, 71), (64, 30)], fill=(255, 255, 255), width=4)
        picture.save(folder / "clips" / f"{number}.jpg")
        lanes = [[-2, 64, 64, 64], [-2, -2, -2, 100]]
        lines.append({"raw_file": f"clips/{number}.jpg", "h_samples": [20, 30, 50, 70], "lanes": lanes})
    (folder / "label_data_0.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


READ = """
import json, sys
from pathlib import Path
from roads import TuSimpleRoads, marked
roads = TuSimpleRoads(Path(sys.argv[1]), 36, 64)
values, columns = roads.picture(len(roads) - 1)
print(json.dumps([len(roads), list(values.shape), columns.tolist(), marked(columns, 64)[30].tolist()]))
"""


def test_pictures_in_the_layout_of_tusimple(tmp_path: Path) -> None:
    """Half the size: the lane of column 64, in rows 30 to 70, is at 32, in rows 15 to 35. One point is no lane."""
    command = [sys.executable, "-c", READ, str(tusimple(tmp_path / "roads", 3))]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True)
    count, shape, columns, row = json.loads(done.stdout)
    assert (count, shape) == (3, [3, 36, 64])
    assert [column for column, at in enumerate(columns[0]) if at == 32] == list(range(15, 36))
    assert all(at == -1 for lane in columns[1:] for at in lane)
    assert [column for column, mark in enumerate(row) if mark == 1] == [31, 32, 33]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"image_width": 60}, "image_width must be a multiple of 8"),
        pytest.param({"channels": 6}, "channels must be a multiple of 4", marks=pytest.mark.long),
        pytest.param({"batch_size": 48}, "there are only 36 pictures", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_trained_says_why(tmp_path: Path, params: dict[str, Any], words: str) -> None:
    ran = try_run(HERE.parent, work=tmp_path, params=SMALL | params)
    assert ran.problem == "exit code 1" and words in ran.log and "Traceback" not in ran.log


@pytest.mark.long
def test_it_trains_on_a_folder_of_pictures(tmp_path: Path) -> None:
    params = SMALL | {"batch_size": 2, "val_pictures": 2, "epochs": 1}
    roads = tusimple(tmp_path / "roads", 6)
    ran = run(HERE.parent, work=tmp_path / "work", inputs={"roads": roads}, params=params)
    assert "4 pictures to train with, 2 to validate" in ran.log and "drawn" not in ran.log
    (roads / "label_data_0.json").unlink()
    ran = try_run(HERE.parent, work=tmp_path / "again", inputs={"roads": roads}, params=params)
    assert "has no label_data*.json" in ran.log and "Traceback" not in ran.log
