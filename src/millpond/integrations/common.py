"""What all integrations share: which run they log to, and that nothing they do ends a training."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from millpond.client import tracking
from millpond.client.run import Run

log = logging.getLogger(__name__)

# Said once each: a callback fails the same way at every step.
_said: set[str] = set()


class RunChoice:
    """The run to log to: one that was given, else the current one, else a new one of this name and experiment.

    An integration does not end it: libraries train, evaluate and test in turn. It ends with the script, with its
    `with` block, or by `millpond.finish()`.
    """

    def __init__(self, run: Run | None, name: str | None = None, experiment: str | None = None) -> None:
        self._given = run
        self._name = name
        self._experiment = experiment

    def get(self) -> Run:
        if self._given is not None:
            return self._given
        return tracking.current_run() or tracking.init(name=self._name, experiment=self._experiment)


@contextmanager
def harmless(what: str) -> Iterator[None]:
    """Say on stderr, once, that something could not be logged, instead of raising into the training."""
    try:
        yield
    except Exception as error:  # of whatever library; logging must not end a training
        log.debug("integration_failed", exc_info=True)
        message = f"millpond: {what} could not be logged: {error}\n"
        if message not in _said:
            _said.add(message)
            sys.stderr.write(message)


def numbers(values: Mapping[str, Any] | None) -> dict[str, float]:
    """Those that are numbers: libraries mix texts and arrays into what they report."""
    found: dict[str, float] = {}
    for key, value in (values or {}).items():
        if isinstance(value, str):
            continue
        try:
            found[str(key)] = float(value)
        except (TypeError, ValueError, RuntimeError):
            continue
    return found


def flat(params: Mapping[str, Any], below: str = "") -> dict[str, Any]:
    """Nested parameters by path: `{"model": {"lr": 1}}` is `{"model.lr": 1}`, which can be a column."""
    found: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, Mapping) and value:
            found.update(flat(value, f"{below}{key}."))
        else:
            found[f"{below}{key}"] = value
    return found
