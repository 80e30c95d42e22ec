"""Every method of MLflow's protocol, from its client's own files (dev/make_mlflow_methods.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources


@dataclass(frozen=True, slots=True)
class Method:
    service: str
    name: str
    method: str
    # As in `mlflow/runs/create`; `{…}` stands for a part, `{…:path}` for several.
    path: str


class Methods:
    @cached_property
    def all(self) -> Sequence[Method]:
        text = resources.files(__package__).joinpath("methods.txt").read_text()
        return [Method(*line.split()[:4]) for line in text.splitlines() if not line.startswith("#")]

    def find(self, method: str, path: str) -> str | None:
        """The name of the method that a request means."""
        return next(
            (name for verb, pattern, name in self._patterns if verb == method and pattern.fullmatch(path)), None
        )

    @cached_property
    def _patterns(self) -> Sequence[tuple[str, re.Pattern[str], str]]:
        return [(one.method, re.compile(_pattern(one.path)), one.name) for one in self.all]


def _pattern(path: str) -> str:
    parts = re.split(r"(\{[^}]*\})", path)
    return "".join(
        (".+" if part.endswith(":path}") else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
    )


METHODS = Methods()
