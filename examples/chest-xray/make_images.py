"""Draws synthetic chest X-rays for real labels: `python make_images.py DIRECTORY [--images 600] [--size 64]`.

The labels are those of the NIH Chest X-ray dataset, out of the label table that the package torchxrayvision carries
(`pip install --no-deps torchxrayvision`). The pictures are NOT X-rays: they are drawn by this program, with a mark
whose place and shape depend on the label, and mean nothing for medicine. They let the flow run without the real images.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import io
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

TABLE = "Data_Entry_2017_v2020.csv.gz"
CLASSES = ("No Finding", "Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumothorax")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    by_label: dict[str, list[str]] = defaultdict(list)
    for name, label in labels(find_table()):
        if len(by_label[label]) < options.images // len(CLASSES):
            by_label[label].append(name)
    for label, names in by_label.items():
        folder = options.target / label.replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            Image.fromarray(draw(CLASSES.index(label), name, options.size)).save(folder / name)
    print(sum(map(len, by_label.values())), "images")
    return 0


def find_table() -> Path:
    found = importlib.util.find_spec("torchxrayvision")  # found, never imported: it would want torch
    folders = found.submodule_search_locations if found else []
    tables = [path for folder in folders or () for path in Path(folder).rglob(TABLE)]
    if not tables:
        sys.exit("The NIH label table is missing. Install it: pip install --no-deps torchxrayvision")
    return tables[0]


def labels(table: Path) -> Iterator[tuple[str, str]]:
    """Images with exactly one of the labels, in the order of the table."""
    with gzip.open(table) as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            if row["Finding Labels"] in CLASSES:
                yield row["Image Index"], row["Finding Labels"]


def draw(label: int, name: str, size: int) -> np.ndarray:
    """Two dark lungs on a light body, and a bright mark for everything but "No Finding"."""
    random = np.random.default_rng([label, *name.encode()])
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    picture = 150 - 60 * (x**2 + 0.5 * y**2)
    for side in (-0.42, 0.42):
        picture -= 80 * np.exp(-(((x - side) / 0.25) ** 4 + ((y + 0.05) / 0.6) ** 4))
    if label:
        angle = 2 * np.pi * label / len(CLASSES)
        at = 0.45 * np.cos(angle) + random.normal(0, 0.04), 0.5 * np.sin(angle) + random.normal(0, 0.04)
        wide, high = 0.08 + 0.03 * (label % 3), 0.08 + 0.03 * (label % 4)
        picture += 90 * np.exp(-(((x - at[0]) / wide) ** 2 + ((y - at[1]) / high) ** 2))
    return np.clip(picture + random.normal(0, 6, picture.shape), 0, 255).astype(np.uint8)


if __name__ == "__main__":
    sys.exit(main())
