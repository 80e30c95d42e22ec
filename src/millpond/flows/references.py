"""What a step is given: outputs of other steps, parameters of the flow, items of `each`, and conditions on them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """The text of a `when`, made by comparing references: `(split["rows"] > 100) & (params == "full")`."""

    text: str

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"({self.text}) and ({other.text})")

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"({self.text}) or ({other.text})")

    def __invert__(self) -> Condition:
        return Condition(f"not ({self.text})")

    def __bool__(self) -> bool:
        raise TypeError("A condition has no value before the flow runs. Combine conditions with &, | and ~.")

    def __str__(self) -> str:
        return f"${{{self.text}}}"


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Stands for a value or files that exist only when the flow runs. Comparing it makes a condition."""

    path: str

    def __str__(self) -> str:
        return f"${{{self.path}}}"

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: object) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Condition:
        return self._compare(">=", other)

    def __hash__(self) -> int:
        return hash(self.path)

    def __bool__(self) -> bool:
        raise TypeError(f"{self} has no value before the flow runs. Use it in `when`.")

    def _compare(self, operator: str, other: object) -> Condition:
        written = other.path if isinstance(other, Reference) else json.dumps(other)
        return Condition(f"{self.path} {operator} {written}")


def each(key: str) -> Reference:
    """The item that an execution of the step gets: `lr=each("lr")`, with `.options(each={"lr": [0.1, 0.01]})`."""
    return Reference(f"each.{key}")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset that a step reads: `clicks@main`. `cached`: yes, near or no, as in `flow.yaml`."""

    ref: str | Reference
    cached: str = "near"


class Outputs:
    """`step["name"]`: an output of a step."""

    def __init__(self, step: str, names: frozenset[str] | None, path: str) -> None:
        self._step, self._names, self._path = step, names, path

    def __getitem__(self, name: str) -> Reference:
        if self._names is not None and name not in self._names:
            known = ", ".join(sorted(self._names)) or "none"
            raise KeyError(f"Step {self._step!r} has no output {name!r}. Its outputs: {known}.")
        return Reference(f"{self._path}.outputs.{name}")


def plain(value: Any) -> Any:
    """A value as it stands in YAML: references as text, tuples as lists."""
    if isinstance(value, Reference | Condition):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
