"""Trains on one click log in two ways, and tells both in one table."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as parquet
import step
from clicks import LABEL, NUMBERS, make_log
from comparison import DOCUMENT, table
from measuring import Engine
from with_dask import train


def main() -> None:
    params = step.params()
    with tempfile.TemporaryDirectory() as made:
        folder = step.given("clicks")
        if folder is None:
            folder = Path(made)
            step.say(f"no input: making a log of {params.rows:,} rows in Criteo's layout")
            make_log(folder, params.rows, params.seed)
        _check(folder)
        engines = [_with_pandas(folder, vars(params)), _with_dask(folder)]
    shown = table(engines)
    step.say(shown)
    output = step.output("metrics")
    (output / "comparison.md").write_text(f"{shown}\n{DOCUMENT}\n")
    (output / "metrics.json").write_text(json.dumps({one.name: asdict(one) for one in engines}, indent=1))
    for one in engines:
        kind = "dask" if one is engines[1] else "pandas"
        values = {"load_s": one.load, "fit_s": one.fit, "accuracy": one.accuracy, "memory_bytes": one.memory}
        step.log("log_metrics", {f"{kind}_{name}": value for name, value in values.items()})
    step.save_values(accuracy=engines[1].accuracy)


def _check(folder: Path) -> None:
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise step.Problem("The input clicks has no Parquet files.")
    missing = {LABEL, *NUMBERS} - set(parquet.read_schema(files[0]).names)
    if missing:
        raise step.Problem(f"{files[0].name} has no column {sorted(missing)[0]}: it is not in Criteo's layout.")


def _with_pandas(folder: Path, params: dict[str, object]) -> Engine:
    """In a process of its own: the memory of this one would count what came before."""
    command = [sys.executable, "-m", "with_pandas", str(folder), json.dumps(params)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return Engine(**json.loads(done.stdout))


def _with_dask(folder: Path) -> Engine:
    return train(folder, step.params())


# Workers of Dask import this module when they start.
if __name__ == "__main__":
    step.run(main)
