"""Renders scikit-learn's digits as PNG files in one folder per class: `python make_images.py DIR`.

Every digit is drawn upright and slightly turned, 64 × 64 pixels: 3,594 small files, the same ones every time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits

SIZE = 64
TURNS = (0, 12)


def make_images(target: Path) -> int:
    digits = load_digits()
    for label in range(10):
        (target / f"class-{label}").mkdir(parents=True, exist_ok=True)
    made = 0
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        small = Image.fromarray((pixels * 255 / 16).astype("uint8"))
        large = small.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
        for turn in TURNS:
            large.rotate(turn).save(target / f"class-{label}" / f"{number:04d}-{turn:02d}.png")
            made += 1
    return made


if __name__ == "__main__":
    print(make_images(Path(sys.argv[1])), "images")
