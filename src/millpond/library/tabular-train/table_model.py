"""The model of a table: texts become one column per value, linear models get scaled numbers. Columns are inputs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import model_folder
import numpy as np
import onnxruntime
import pandas as pd
import step
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

FILE = "model.onnx"
OPSET = 17
# Numbers are computed in single precision by ONNX, in double precision by scikit-learn.
TOLERANCE = 1e-3


def make_model(rows: pd.DataFrame, *, is_class: bool, params: SimpleNamespace) -> Pipeline:
    """An untrained model for such rows."""
    numbers = [name for name in rows.columns if _is_number(rows[name])]
    texts = [name for name in rows.columns if name not in numbers]
    # Trees only compare: scaled numbers would fall on the other side of a limit in single precision.
    scaling = [StandardScaler()] if params.algorithm == "linear" else []
    columns = [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), *scaling), numbers),
        ("texts", OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
    ]
    used = [one for one in columns if one[2]]
    return Pipeline([("columns", ColumnTransformer(used)), ("model", _algorithm(is_class, params))])


def prepared(rows: pd.DataFrame) -> pd.DataFrame:
    """Numbers in single precision, as the saved model gets them; missing texts are empty."""
    return pd.DataFrame(
        {
            name: rows[name].astype("float32") if _is_number(rows[name]) else rows[name].fillna("").astype(str)
            for name in rows.columns
        }
    )


def save(model: Pipeline, sample: pd.DataFrame, folder: Path, *, is_class: bool) -> float:
    """Write the folder of the model; return the largest difference between its answers and the trained model's."""
    rows = prepared(sample)
    types = [
        (name, FloatTensorType([None, 1]) if _is_number(rows[name]) else StringTensorType([None, 1]))
        for name in rows.columns
    ]
    options = {id(model.steps[-1][1]): {"zipmap": False}} if is_class else None
    content = to_onnx(model, initial_types=types, options=options, target_opset=OPSET).SerializeToString()
    (folder / "1").mkdir(exist_ok=True)
    (folder / "1" / FILE).write_bytes(content)
    model_folder.write_model_files(folder, FILE, _signature(model, rows, is_class=is_class))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    given = {name: rows[[name]].to_numpy(None if _is_number(rows[name]) else object) for name in rows.columns}
    answer = np.asarray(session.run(None, given)[-1])
    wanted = model.predict_proba(rows) if is_class else model.predict(rows)[:, None]
    difference = float(np.abs(answer - wanted).max() / max(1.0, float(np.abs(wanted).max())))
    if difference > TOLERANCE:
        raise step.Problem(f"The ONNX model differs from the trained one by {difference:.3g}: it was not saved.")
    return difference


def _algorithm(is_class: bool, params: SimpleNamespace) -> Any:
    trees = {"n_estimators": params.trees, "random_state": params.seed}
    match params.algorithm, is_class:
        case "gradient-boosting", _:
            kind = GradientBoostingClassifier if is_class else GradientBoostingRegressor
            return kind(learning_rate=params.learning_rate, max_depth=params.max_depth or 3, **trees)
        case "random-forest", _:
            kind = RandomForestClassifier if is_class else RandomForestRegressor
            return kind(max_depth=params.max_depth, n_jobs=-1, **trees)
        case _, True:
            return LogisticRegression(max_iter=1000, random_state=params.seed)
    return Ridge(random_state=params.seed)


def _signature(model: Pipeline, rows: pd.DataFrame, *, is_class: bool) -> dict[str, Any]:
    inputs = [model_folder.tensor(str(name), "FP32" if _is_number(rows[name]) else "BYTES", 1) for name in rows.columns]
    if not is_class:
        return {"task": "regression", "inputs": inputs, "outputs": [model_folder.tensor("variable", "FP32", 1)]}
    classes = [str(name) for name in model.classes_]
    outputs = [
        model_folder.tensor("label", "BYTES"),
        model_folder.tensor("probabilities", "FP32", len(classes)),
    ]
    return {"task": "classification", "inputs": inputs, "outputs": outputs, "classes": classes}


def _is_number(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column))
