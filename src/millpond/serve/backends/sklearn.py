"""Estimators of scikit-learn, and whatever else has `predict`, saved by joblib or pickle.

The one input is the table of features; outputs are named by what the estimator does: `predict`, `predict_proba` …
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import joblib
import numpy as np

from ..config import PbConfig, fill_in
from ..errors import ServeError
from ..tensors import datatype_of
from ..tensors.datatypes import Array
from .base import DERIVED_BATCH, Arrays, Backend, Source
from .stacked import Stacked

_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")
# Without a configuration; the others are asked for by naming them in one.
_DERIVED = ("predict", "predict_proba")


def load(source: Source) -> Sequence[Backend]:
    try:
        estimator = joblib.load(source.file)
    except Exception as error:
        raise source.refuse(f"{type(error).__name__}: {error}") from error
    if not hasattr(estimator, "predict") and not hasattr(estimator, "transform"):
        raise source.refuse(f"{type(estimator).__name__} has neither predict nor transform")
    if not source.config.input or not source.config.output:
        _derive(source, estimator)
    return [Stacked(_Estimator(source, estimator))] * source.instances


class _Estimator:
    inline = True

    def __init__(self, source: Source, estimator: Any) -> None:
        self._estimator = estimator
        self._outputs = _methods(source, estimator, source.config)

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        if len(inputs) != 1:
            raise ServeError(400, f"the estimator takes one input, not {len(inputs)}")
        (table,) = inputs.values()
        with warnings.catch_warnings():
            # Estimators that were fitted to named columns warn of each array without.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return {
                name: np.asarray(getattr(self._estimator, method)(table))
                for name, method in self._outputs.items()
                if not outputs or name in outputs
            }

    def close(self) -> None:
        """The estimator ends with the last who knows it."""


def _methods(source: Source, estimator: Any, config: PbConfig) -> dict[str, str]:
    """The method that makes each output: the one it is named after, or `predict` for one of any name."""
    found: dict[str, str] = {}
    for entry in config.output:
        method = entry.name if entry.name in _METHODS else _METHODS[0] if len(config.output) == 1 else ""
        if not method or not hasattr(estimator, method):
            raise source.refuse(f"output '{entry.name}' is none of {', '.join(_METHODS)} of the estimator")
        found[entry.name] = method
    return found


def _derive(source: Source, estimator: Any) -> None:
    features = getattr(estimator, "n_features_in_", None)
    if features is None:
        raise source.refuse("the estimator does not say how many features it has: write a config.pbtxt")
    trial = np.zeros((1, int(features)))
    names = [name for name in _DERIVED if hasattr(estimator, name)] or ["transform"]
    outputs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            answer = np.asarray(getattr(estimator, name)(trial))
            outputs.append((name, datatype_of(answer), [-1, *answer.shape[1:]]))
    fill_in(source.config, [("X", "FP64", [-1, int(features)])], outputs, max_batch_size=DERIVED_BATCH)
