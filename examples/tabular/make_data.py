"""Writes scikit-learn's iris table as a SQLite file: `python make_data.py DIRECTORY`."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from sklearn.datasets import load_iris


def make_data(target: Path) -> int:
    target.mkdir(parents=True, exist_ok=True)
    (target / "iris.sqlite").unlink(missing_ok=True)
    iris = load_iris()
    rows = [(*map(float, row), str(iris.target_names[kind])) for row, kind in zip(iris.data, iris.target, strict=True)]
    with sqlite3.connect(target / "iris.sqlite") as database:
        sizes = "sepal_length REAL, sepal_width REAL, petal_length REAL, petal_width REAL"
        database.execute(f"CREATE TABLE flowers ({sizes}, species TEXT)")
        database.executemany("INSERT INTO flowers VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    return len(rows)


if __name__ == "__main__":
    print(make_data(Path(sys.argv[1])), "rows")
