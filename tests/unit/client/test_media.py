from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from PIL import Image

from millpond.client import media


def document(made: media.Media) -> Any:
    assert made.extension == "json"
    return json.loads(made.content)


def test_images(tmp_path: Path) -> None:
    red = Image.new("RGB", (2, 1), "red")
    red.save(tmp_path / "red.JPG", format="JPEG")
    assert media.image(tmp_path / "red.JPG").extension == "jpg"
    for value in (red, [[[255, 0, 0], [255, 0, 0]]], [[(1.0, 0.0, 0.0), (1.0, 0.0, 0.0)]]):
        shown = Image.open(io.BytesIO(media.image(value).content))
        assert (shown.size, shown.convert("RGB").getpixel((1, 0))) == ((2, 1), (255, 0, 0))
    grey = Image.open(io.BytesIO(media.image([[0.0, 0.5], [1.0, 0.25]]).content))
    assert [grey.getpixel((x, y)) for y in (0, 1) for x in (0, 1)] == [0, 128, 255, 64]
    for wrong in ([], [[[1, 2]]], "absent.png"):
        with pytest.raises((ValueError, OSError)):
            media.image(wrong)


def test_tables() -> None:
    expected = {"columns": ["a", "b"], "data": [[1, "x"], [2, None]]}
    frame = pandas.DataFrame({"a": [1, 2], "b": pandas.Series(["x", None], dtype=object)})
    for data in (frame, {"a": [1, 2], "b": ["x", None]}, [{"a": 1, "b": "x"}, {"a": 2}]):
        assert document(media.table(data)) == expected
    with pytest.raises(TypeError):
        media.table([1, 2])


def test_confusion_matrices() -> None:
    by_class = media.confusion_matrix(None, None, ["cat", "dog", "dog"], ["cat", "cat", "dog"])
    assert document(by_class) == {"labels": ["cat", "dog"], "matrix": [[1, 0], [1, 1]]}
    assert document(media.confusion_matrix([[3, 1], [0, 2]], ["a", "b"], None, None))["matrix"] == [[3, 1], [0, 2]]
    with pytest.raises(ValueError, match="rows and columns"):
        media.confusion_matrix([[1, 2]], None, None, None)


def test_histograms() -> None:
    found = document(media.histogram([0.0, 1.0, 2.0, 4.0, float("nan")], 4))
    assert found == {"edges": [0.0, 1.0, 2.0, 3.0, 4.0], "counts": [1, 1, 1, 1], "other": 1}
    assert sum(document(media.histogram([], 4))["counts"]) == 0
    assert sum(document(media.histogram([7.0, 7.0], 4))["counts"]) == 2


@pytest.mark.parametrize(
    ("key", "expected"),
    [("a/b c", "a/b c"), ("../../etc", "etc"), ("a//b", "a/b"), ("a\\b\0c", "a_b_c"), ("..", "")],
)
def test_names(key: str, expected: str) -> None:
    assert media.safe_name(key) == expected
