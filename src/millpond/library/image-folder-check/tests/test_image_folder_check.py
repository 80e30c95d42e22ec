"""Strays, broken files and duplicates are named; what is valid is passed on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pytest.importorskip("PIL", reason="needs pillow: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent


def broken(root: Path) -> Path:
    shutil.copytree(HERE / "data", root)
    (root / "right" / "cut.jpg").write_bytes((root / "right" / "0.jpg").read_bytes()[:200])
    shutil.copyfile(root / "left" / "0.png", root / "left" / "again.png")
    (root / "empty").mkdir()
    return root


def test_every_problem_is_named_and_the_rest_is_passed_on(tmp_path: Path) -> None:
    params = {"least_per_class": 3, "duplicates": "drop"}
    ran = run(HERE.parent, work=tmp_path / "w", inputs={"images": broken(tmp_path / "images")}, params=params)
    assert ran.outputs["classes"] == ["left", "right"] and ran.outputs["count"] == 6
    report = json.loads((ran.path("report") / "report.json").read_text())
    said = "\n".join(report["problems"])
    for words in (
        "Touch Bar Shot.png: lies among the class folders", "notes.txt: not an image", "cut.jpg: cannot be read",
        "again.png: same content as left/0.png", "empty: 0 valid images",
    ):  # fmt: skip
        assert words in said
    assert ran.outputs["problems"] == len(report["problems"]) == 5
    kept = sorted(path.name for path in ran.path("images").rglob("*.*"))
    assert kept == ["0.jpg", "0.png", "1.jpg", "1.png", "2.jpg", "2.png"]
    assert report["sizes"]["width"] == {"least": 12, "median": 16, "greatest": 16}


def test_strict_fails_on_any_problem(tmp_path: Path) -> None:
    ran = try_run(HERE.parent, work=tmp_path, inputs={"images": HERE / "data"}, params={"strict": True})
    assert ran.problem == "exit code 1" and "strict is on" in ran.log
