"""Sizes, modes and formats are those asked for; a broken file fails the step or is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

image_of = pytest.importorskip("PIL.Image", reason="needs pillow: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent


def test_every_image_has_the_new_size_colour_and_format(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(HERE / "data", data)
    (data / "a" / "broken.png").write_bytes(b"\x89PNG not really")
    params = {"width": 6, "height": 4, "mode": "pad", "color": "grayscale", "format": "png", "broken": "skip"}
    ran = run(HERE.parent, work=tmp_path / "w", inputs={"images": data}, params=params)
    assert (ran.outputs["count"], ran.outputs["skipped"]) == (3, 1)
    made = sorted(path for path in ran.path("images").rglob("*") if path.is_file())
    assert [path.name for path in made] == ["wide.jpg.png", "wide.png.png", "tall.png"]
    for path in made:
        with image_of.open(path) as image:
            assert (image.size, image.mode, image.format) == ((6, 4), "L", "PNG")
    refused = try_run(HERE.parent, work=tmp_path / "w2", inputs={"images": data}, params=params | {"broken": "fail"})
    assert "1 of 4 images cannot be read" in refused.log


def test_fit_keeps_the_proportions(tmp_path: Path) -> None:
    ran = run(
        HERE.parent, work=tmp_path, inputs={"images": HERE / "data"}, params={"width": 10, "height": 10, "mode": "fit"}
    )
    with image_of.open(ran.path("images") / "a" / "wide.png") as image:
        assert image.size == (10, 5)
