"""Puts the predictions of all shards into one folder: `python -m millpond_serve.batch.merge`, a step of a flow."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path


def merge(parts: Path, target: Path) -> int:
    """Copy what every shard made; the number of parts. Files of different shards have different names."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(parts.rglob("*")):
        if path.is_file():
            shutil.copyfile(path, target / path.name)
    return len(list(target.glob("part-*.parquet")))


def step_input(name: str) -> Path:
    """The folder of an input of this step."""
    return Path(os.environ[f"MILL_INPUT_{name.upper()}"])


def main() -> None:
    output = Path(os.environ["MILL_OUTPUT"]) / "predictions"
    count = merge(step_input("parts"), output)
    Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"parts": count}))


if __name__ == "__main__":
    main()
