"""Measures a model on data with the truth, and compares it with a baseline on the very same data."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import model_folder
import numpy as np
import pandas as pd
import predictions
import scores
import step


def main() -> None:
    params, model, data = step.params(), step.given("model"), step.given("data")
    baseline = step.given("baseline")
    assert model is not None and data is not None
    found = evaluate(model, data, params)
    other = evaluate(baseline, data, params) if baseline else None
    if other and other["task"] != found["task"]:
        raise step.Problem(f"The model does {found['task']}, the baseline {other['task']}: they cannot be compared.")
    difference = found["score"] - other["score"] if other else 0.0
    better = other is None or (difference >= params.better_by and difference > 0)
    write(found, other, difference, better)
    step.save_values(score=found["score"], better=better, difference=difference)


def evaluate(folder: Path, data: Path, params: SimpleNamespace) -> dict[str, Any]:
    try:
        signature = model_folder.read_signature(folder)
        file = model_folder.model_file(folder)
    except ValueError as problem:
        raise step.Problem(str(problem)) from problem
    task = signature.get("task", "")
    rows = predictions.read(data, signature, params.target)
    answers = predictions.predict(file, signature, rows, params.batch_size)
    if task == "regression":
        measured = scores.regression(np.asarray(rows.truth, dtype=float), answers[:, 0], params)
        main_score = "r2"
    else:
        truth = class_numbers(rows.truth, signature["classes"])
        measured = scores.classification(truth, answers, signature["classes"], params)
        main_score = "accuracy"
    guessed = answers[:, 0] if task == "regression" else [signature["classes"][number] for number in answers.argmax(1)]
    table = pd.DataFrame({"name": rows.names, "truth": rows.truth, "prediction": guessed})
    return {"task": task, "rows": len(rows.truth), "score": measured[main_score]["value"], "scores": measured,
            "table": table, "classes": signature.get("classes", [])}  # fmt: skip


def class_numbers(truth: list[Any], classes: list[str]) -> np.ndarray:
    unknown = sorted({str(label) for label in truth} - set(classes))
    if unknown:
        raise step.Problem(
            f"The data has the class {unknown[0]!r}, which the model does not know: {', '.join(classes)}"
        )
    return np.array([classes.index(str(label)) for label in truth])


def write(found: dict[str, Any], other: dict[str, Any] | None, difference: float, better: bool) -> None:
    report = step.output("report")
    found["table"].to_csv(report / "predictions.csv", index=False)
    text = markdown(found, other, difference, better)
    (report / "report.md").write_text(text, "utf-8")
    step.say(text)
    kept = {key: value for key, value in found.items() if key != "table"}
    kept |= {"baseline": other["scores"], "difference": difference, "better": better} if other else {}
    (step.output("metrics") / "metrics.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    numbers = {name: one["value"] for name, one in found["scores"].items() if "value" in one}
    step.log("log_metrics", numbers | ({"baseline_difference": difference} if other else {}))
    if "confusion_matrix" in found["scores"]:
        matrix = found["scores"]["confusion_matrix"]["counts"]
        step.log("log_confusion_matrix", "evaluation", matrix, labels=found["classes"])


def markdown(found: dict[str, Any], other: dict[str, Any] | None, difference: float, better: bool) -> str:
    lines = [
        f"# Evaluation on {found['rows']} rows",
        "",
        "| metric | value | low | high | baseline |",
        "|---|---|---|---|---|",
    ]
    for name, one in found["scores"].items():
        if "value" in one:
            before = f"{other['scores'][name]['value']:.4f}" if other else "–"
            lines.append(f"| {name} | {one['value']:.4f} | {one['low']:.4f} | {one['high']:.4f} | {before} |")
    if other:
        lines += ["", f"Difference to the baseline: {difference:+.4f}. Better: {'yes' if better else 'no'}."]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    step.run(main)
