"""How good an endpoint's answers were, by version: logged predictions against labels that became known later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond.client.http import Api
from millpond.client.monitoring.logged import labels_of, logged_requests, open_log
from millpond.errors import BadRequest
from millpond.serve.monitoring.logged import Window
from millpond.serve.monitoring.tables import Row
from millpond.serve.monitoring.values import predictions_of, tensors_of, text_of
from millpond.wire.endpoints import Endpoint


@dataclass(slots=True)
class VersionQuality:
    """Of one version. `labelled` counts requests whose label is known and fits the answer, `samples` what is in them.

    `accuracy` is of classes, `mean_error` (absolute) of numbers with a fraction; the other one is None.
    """

    version: str
    requests: int = 0
    labelled: int = 0
    samples: int = 0
    _right: int = field(default=0, repr=False)
    _numbers: int = field(default=0, repr=False)
    _error: float = field(default=0.0, repr=False)

    @property
    def accuracy(self) -> float | None:
        classes = self.samples - self._numbers
        return self._right / classes if classes else None

    @property
    def mean_error(self) -> float | None:
        return self._error / self._numbers if self._numbers else None

    def add(self, predictions: Sequence[Any], labels: Sequence[Any]) -> None:
        self.labelled += 1
        for predicted, label in zip(predictions, labels, strict=True):
            self.samples += 1
            if isinstance(predicted, float) and isinstance(label, int | float) and not isinstance(label, bool):
                self._numbers += 1
                self._error += abs(predicted - label)
            else:
                self._right += text_of(predicted) == text_of(label)


def quality(api: Api, endpoint: Endpoint, window: Window, *, output: str | None = None) -> list[VersionQuality]:
    """By version. BadRequest if no answers were logged, or nobody said which of several outputs is meant."""
    log = open_log(api, endpoint)
    with log:
        labels = labels_of(log)
        found: dict[str, VersionQuality] = {}
        for row in logged_requests(log, endpoint, window):
            if row.get("response") is None:
                raise BadRequest(
                    f"The log of endpoint {endpoint.name} has no answers.",
                    hint="They are kept with log: {level: full} in its endpoint.yaml.",
                )
            version = f"{row['model']}@{row['version']}"
            one = found.setdefault(version, VersionQuality(version))
            one.requests += 1
            if row["id"] in labels:
                _add(one, row, labels[row["id"]], output)
    return [found[version] for version in sorted(found)]


def _add(one: VersionQuality, row: Row, label: Any, output: str | None) -> None:
    outputs = dict(tensors_of(row["response"], "outputs"))
    if output is None and len(outputs) > 1:
        raise BadRequest(f"Answers have several outputs: {', '.join(outputs)}.", hint="Choose one with --output.")
    samples = outputs.get(output) if output is not None else next(iter(outputs.values()), None)
    if samples is None:
        return
    predictions = predictions_of(samples)
    labels = label if isinstance(label, list) else [label]
    if len(predictions) == len(labels) and None not in labels:
        one.add(predictions, labels)
