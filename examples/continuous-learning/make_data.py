"""Writes made-up readings of machines: python make_data.py gold|first|more|broken FOLDER

`first` has few rows with many wrong labels, `more` has many rows, `broken` has labels without meaning. `gold` is what
every version is measured with.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

# Rows, share of wrong labels, and where the random numbers begin.
KINDS = {"gold": (400, 0.0, 1), "first": (60, 0.35, 2), "more": (600, 0.02, 3), "broken": (300, 0.5, 4)}
COLUMNS = ["temperature", "vibration", "load", "fault"]


def rows(kind: str) -> list[list[object]]:
    count, wrong, seed = KINDS[kind]
    draw = random.Random(seed)
    found: list[list[object]] = []
    for _ in range(count):
        # As coarse as such sensors are: quarters, eighths and 64ths.
        temperature, vibration, load = draw.randrange(80, 400) / 4, draw.randrange(80) / 8, draw.randrange(64) / 64
        is_fault = temperature + 6 * vibration + 20 * load > 110
        if draw.random() < wrong:
            is_fault = not is_fault
        found.append([temperature, vibration, load, "yes" if is_fault else "no"])
    return found


def write(kind: str, folder: Path) -> Path:
    """One file for each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows(kind))
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    print(write(sys.argv[1], Path(sys.argv[2])))
