"""A click log in Criteo's layout: label, 13 numbers, 26 categories. It is made up, and no log of anybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

LABEL = "label"
NUMBERS = [f"I{number}" for number in range(1, 14)]
CATEGORIES = [f"C{number}" for number in range(1, 27)]
ROWS_OF_FILE = 25_000
# About as many clicks as in Criteo's own log, and as many values that are missing.
_CLICKS, _MISSING = 0.256, 0.1


def make_log(folder: Path, rows: int, seed: int) -> None:
    """Parquet files of at most `ROWS_OF_FILE` rows each. The same rows and seed make the same log."""
    for part, begin in enumerate(range(0, rows, ROWS_OF_FILE)):
        count = min(ROWS_OF_FILE, rows - begin)
        made = _rows(np.random.default_rng([seed, part]), count)
        made.to_parquet(folder / f"part-{part:04d}.parquet", index=False)


def _rows(random: np.random.Generator, count: int) -> pd.DataFrame:
    """Clicks follow some of the numbers, with noise: there is something to learn, and not everything."""
    numbers = random.lognormal(1.0, 1.2, (count, len(NUMBERS))).round(2)
    wish = np.log(numbers[:, 0]) - 0.8 * np.log(numbers[:, 4]) + np.where(numbers[:, 9] > 5, 0.9, -0.4)
    wish += random.normal(0.0, 1.0, count)
    label = (wish > np.quantile(wish, 1 - _CLICKS)).astype("int8")
    numbers[random.random(numbers.shape) < _MISSING] = np.nan
    columns = {LABEL: label, **{name: numbers[:, place] for place, name in enumerate(NUMBERS)}}
    for place, name in enumerate(CATEGORIES):
        columns[name] = [f"{value:08x}" for value in random.zipf(1.6, count) % (50 * (place + 1))]
    return pd.DataFrame(columns)
