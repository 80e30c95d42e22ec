"""Trains a model on a table, checks it on rows it has not seen, and saves it as ONNX."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import step
import table_files
import table_model
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)
from sklearn.model_selection import train_test_split

MOST_CLASSES = 20


def main() -> None:
    params, data, data_test = step.params(), step.given("data"), step.given("data_test")
    assert data is not None
    rows = table_files.read_table(data)
    columns = chosen_columns(rows, params)
    is_class = is_classification(rows[params.target], params.task)
    step.log("log_params", vars(params) | {"rows": len(rows), "columns": len(columns)})
    if data_test is not None:
        train, test = rows, table_files.read_table(data_test)
    else:
        stratify = rows[params.target] if is_class and rows[params.target].value_counts().min() > 1 else None
        train, test = train_test_split(rows, test_size=params.val_size, random_state=params.seed, stratify=stratify)
    step.say(f"{len(train)} rows to train with, {len(test)} to validate; {len(columns)} columns")
    model = table_model.make_model(train[columns], is_class=is_class, params=params)
    target = train[params.target].astype(str) if is_class else train[params.target].astype("float32")
    model.fit(table_model.prepared(train[columns]), target)
    measured = measure(model, test, columns, params.target, is_class=is_class)
    difference = table_model.save(model, test[columns], step.output("model"), is_class=is_class)
    step.say(f"ONNX model equals the trained one; largest difference {difference:.1e}")
    report(measured, score=measured["accuracy" if is_class else "r2"])


def chosen_columns(rows: pd.DataFrame, params: SimpleNamespace) -> list[str]:
    wanted = params.features or [name for name in rows.columns if name != params.target]
    for name in [params.target, *wanted, *params.drop]:
        if name not in rows.columns:
            raise step.Problem(f"The table has no column {name!r}. Its columns: {', '.join(map(str, rows.columns))}")
    columns = [name for name in wanted if name not in (*params.drop, params.target)]
    if not columns:
        raise step.Problem("No column is left to predict from.")
    if rows[params.target].isna().any():
        raise step.Problem(f"Column {params.target!r} has rows without a value. Remove them first.")
    return columns


def is_classification(target: pd.Series, task: str) -> bool:
    if task == "auto":
        return not pd.api.types.is_numeric_dtype(target) or target.nunique() <= MOST_CLASSES
    if task == "regression" and not pd.api.types.is_numeric_dtype(target):
        raise step.Problem(f"Column {target.name!r} holds text: it cannot be the target of a regression.")
    return task == "classification"


def measure(model: Any, test: pd.DataFrame, columns: list[str], target: str, *, is_class: bool) -> dict[str, Any]:
    given = table_model.prepared(test[columns])
    if not is_class:
        truth, guess = test[target].astype(float), model.predict(given)
        return {
            "r2": r2_score(truth, guess),
            "rmse": root_mean_squared_error(truth, guess),
            "mae": mean_absolute_error(truth, guess),
        }
    truth, classes = test[target].astype(str), [str(name) for name in model.classes_]
    unknown = sorted(set(truth) - set(classes))
    if unknown:
        raise step.Problem(f"Class {unknown[0]!r} is in the validation rows, but not among those to train with.")
    probabilities = model.predict_proba(given)
    guess = np.array(classes)[probabilities.argmax(axis=1)]
    matrix = confusion_matrix(truth, guess, labels=classes)
    step.log("log_confusion_matrix", "validation", matrix.tolist(), labels=classes)
    return {
        "accuracy": accuracy_score(truth, guess),
        "f1": f1_score(truth, guess, average="macro"),
        "log_loss": log_loss(truth, probabilities, labels=classes),
        "classes": classes,
        "confusion_matrix": matrix.tolist(),
    }


def report(measured: dict[str, Any], *, score: float) -> None:
    numbers = {name: float(value) for name, value in measured.items() if not isinstance(value, list)}
    step.log("log_metrics", numbers)
    (step.output("metrics") / "metrics.json").write_text(json.dumps(measured, indent=1, default=float) + "\n", "utf-8")
    step.save_values(score=float(score))
    step.say("  ".join(f"{name} {value:.4f}" for name, value in numbers.items()))


if __name__ == "__main__":
    step.run(main)
