"""One process: pandas reads all of it, scikit-learn trains. It is started alone, so that its memory is its own."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from clicks import LABEL, NUMBERS
from measuring import Engine, peak_bytes, timed
from sklearn.ensemble import RandomForestClassifier


def main(folder: str, asked: str) -> None:
    params = json.loads(asked)
    engine = Engine("pandas + scikit-learn")
    with timed(engine, "load"):
        files = sorted(Path(folder).rglob("*.parquet"))
        table = pd.concat([pd.read_parquet(file, columns=[LABEL, *NUMBERS]) for file in files], ignore_index=True)
        numbers, labels = table[NUMBERS].fillna(0.0).to_numpy("float32"), table[LABEL].to_numpy()
    tested = max(1, int(len(table) * params["test_size"]))
    forest = RandomForestClassifier(
        n_estimators=params["trees"], max_depth=params["depth"], n_jobs=-1, random_state=params["seed"]
    )
    with timed(engine, "fit"):
        forest.fit(numbers[:-tested], labels[:-tested])
    engine.rows, engine.memory = len(table), peak_bytes()
    engine.accuracy = float((forest.predict(numbers[-tested:]) == labels[-tested:]).mean())
    print(json.dumps(asdict(engine)))


if __name__ == "__main__":
    main(*sys.argv[1:])
