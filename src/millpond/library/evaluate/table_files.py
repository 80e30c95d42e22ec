"""Reads a table: all CSV and Parquet files of a folder. Copied into the components that read tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import step


def read_table(folder: Path) -> pd.DataFrame:
    """The rows of all files, in the order of their names. Columns must be the same everywhere."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".csv", ".parquet"))
    if not files:
        raise step.Problem(f"{folder} is not a table: it has no CSV or Parquet file.")
    frames = [pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path) for path in files]
    for path, frame in zip(files, frames, strict=True):
        if list(frame.columns) != list(frames[0].columns):
            raise step.Problem(f"{path.name} has other columns than {files[0].name}.")
    rows = pd.concat(frames, ignore_index=True)
    if rows.empty:
        raise step.Problem("The table has no rows.")
    return rows
