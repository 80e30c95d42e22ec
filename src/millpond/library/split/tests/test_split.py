"""Parts have their shares, groups stay together, and the same seed gives the same split."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

HERE = Path(__file__).resolve().parent


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def image_folder(root: Path, **classes: int) -> Path:
    for name, count in classes.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            (root / name / f"{number // 3:03d}_{number}.png").write_text(f"{name} {number}")
    return root


def test_each_class_is_divided_exactly_and_a_stray_file_is_no_class(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", rare=10, common=100)
    (data / "Touch Bar Shot 2020-03-12 at 7.53.13 PM.png").write_text("stray")
    ran = run(HERE.parent, work=tmp_path / "work", inputs={"data": data}, params={"val_size": 0.2, "test_size": 0.1})
    counts = {part: [sum(name.startswith(c) for name in files(ran.path(part))) for c in ("rare", "common")]
              for part in ("train", "val", "test")}  # fmt: skip
    assert counts == {"train": [7, 70], "val": [2, 20], "test": [1, 10]}
    assert {key: ran.outputs[f"{key}_files"] for key in counts} == {"train": 77, "val": 22, "test": 11}
    assert "Touch Bar Shot" in ran.log and not any("Touch" in name for name in files(ran.path("train")))


def test_groups_stay_together_and_the_seed_decides(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", a=60, b=30)

    def train(seed: int, work: str) -> set[str]:
        params = {"val_size": 0.3, "group": "^([0-9]+)_", "seed": seed}
        ran = run(HERE.parent, work=tmp_path / work, inputs={"data": data}, params=params)
        patients = [{Path(name).name[:3] for name in files(ran.path(part))} for part in ("train", "val")]
        assert not patients[0] & patients[1]
        assert 20 <= ran.outputs["val_files"] <= 34
        return files(ran.path("train"))

    assert train(1, "w1") == train(1, "w2") != train(2, "w3")


@pytest.mark.parametrize(
    ("made", "params", "words"),
    [(0, {}, "No files in class folders"), (4, {"val_size": 0.6, "test_size": 0.4}, "leave nothing to train")],
)
def test_what_cannot_be_split_says_why(tmp_path: Path, made: int, params: dict[str, float], words: str) -> None:
    data = image_folder(tmp_path / "data", **({"a": made} if made else {}))
    data.mkdir(exist_ok=True)
    ran = try_run(HERE.parent, work=tmp_path / "work", inputs={"data": data}, params=params)
    assert ran.problem == "exit code 1" and words in ran.log and "Traceback" not in ran.log
