"""scikit-learn: `log_estimator(model, X_test, y_test)` after `fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn import metrics
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from millpond.client.run import Run
from millpond.integrations.common import RunChoice, flat, harmless, numbers


def log_estimator(
    estimator: Any, X: Any = None, y: Any = None, *, prefix: str = "test", name: str | None = None,
    experiment: str | None = None, run: Run | None = None,
) -> dict[str, float]:  # fmt: skip
    """Log a fitted estimator: its parameters and, with data, its scores as `prefix_…`; the scores.

    A classifier's confusion matrix and a table of feature importances are kept too, and of a search over parameters
    the best ones with a table of all. Call it again with another prefix for other data.
    """
    found: dict[str, float] = {}
    with harmless(f"the estimator {type(estimator).__name__}"):
        to = RunChoice(run, name, experiment).get()
        to.set_tag("estimator", type(estimator).__name__)
        to.log_params(_params(estimator))
        _log_search(to, estimator)
        _log_importances(to, estimator)
    with harmless(f"scores of the estimator {type(estimator).__name__}"):
        if X is not None:
            found = {f"{prefix}_{key}": value for key, value in _scores(to, estimator, X, y, prefix).items()}
            to.log_metrics(found)
    return found


def _params(estimator: Any) -> dict[str, Any]:
    """Without the estimators inside, whose own parameters are listed as `step__name`."""
    given = estimator.get_params(deep=True)
    return {key: value for key, value in flat(given).items() if not hasattr(value, "get_params") and key != "steps"}


def _log_search(run: Run, estimator: Any) -> None:
    if not hasattr(estimator, "cv_results_"):
        return
    if hasattr(estimator, "best_params_"):
        run.log_params({f"best.{key}": value for key, value in estimator.best_params_.items()})
    if hasattr(estimator, "best_score_"):
        run.log_metric("best_cv_score", estimator.best_score_)
    columns = {key: list(values) for key, values in estimator.cv_results_.items() if not key.startswith("param_")}
    run.log_table("cv_results", {key: [_cell(value) for value in values] for key, values in columns.items()})


def _log_importances(run: Run, estimator: Any) -> None:
    inner = getattr(estimator, "best_estimator_", estimator)
    last = inner[-1] if isinstance(inner, Pipeline) else inner
    importances = getattr(last, "feature_importances_", None)
    if importances is None:
        return
    names = getattr(last, "feature_names_in_", range(len(importances)))
    rows = sorted(zip(map(str, names), map(float, importances), strict=True), key=lambda row: -row[1])
    run.log_table("feature_importances", [{"feature": feature, "importance": value} for feature, value in rows])


def _scores(run: Run, estimator: Any, X: Any, y: Any, prefix: str) -> dict[str, float]:
    if y is not None and is_classifier(estimator):
        predicted = estimator.predict(X)
        run.log_confusion_matrix(prefix, truth=y, predicted=predicted)
        return _classifier_scores(estimator, X, y, predicted)
    if y is not None and is_regressor(estimator):
        predicted = estimator.predict(X)
        return {
            "r2": float(metrics.r2_score(y, predicted)),
            "mae": float(metrics.mean_absolute_error(y, predicted)),
            "rmse": float(metrics.mean_squared_error(y, predicted)) ** 0.5,
        }
    return numbers({"score": estimator.score(X, y)}) if hasattr(estimator, "score") else {}


def _classifier_scores(estimator: Any, X: Any, y: Any, predicted: Any) -> dict[str, float]:
    macro: Mapping[str, Any] = {"average": "macro", "zero_division": 0}
    found = {
        "accuracy": float(metrics.accuracy_score(y, predicted)),
        "precision_macro": float(metrics.precision_score(y, predicted, **macro)),
        "recall_macro": float(metrics.recall_score(y, predicted, **macro)),
        "f1_macro": float(metrics.f1_score(y, predicted, **macro)),
    }
    if hasattr(estimator, "predict_proba"):
        shares = estimator.predict_proba(X)
        labels = estimator.classes_
        _add(found, "log_loss", lambda: metrics.log_loss(y, shares, labels=labels))
        if len(labels) == 2:
            _add(found, "roc_auc", lambda: metrics.roc_auc_score(y, shares[:, 1]))
        else:
            _add(found, "roc_auc", lambda: metrics.roc_auc_score(y, shares, multi_class="ovr", labels=labels))
    return found


def _add(found: dict[str, float], key: str, score: Callable[[], Any]) -> None:
    """Some scores do not exist for some data: no area under a curve for a single class."""
    try:
        found[key] = float(score())
    except ValueError:
        return


def _cell(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value if isinstance(value, (int, float)) else str(value)
