"""Whether a step that ended well made what it declares: files in its folder, values of their types."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.decide.flows.values import why_wrong
from millpond.model.flow import VALUE_TYPES, Param
from millpond.model.job_spec import StepOutput

# Values are kept beside the job and told with every report.
MAX_VALUE_BYTES = 1 << 20
# Outputs of these types may be single files; all others are folders, which are there before the command begins.
FILE_TYPES = frozenset({"file", "metrics"})


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """`problem` in words; None if all is there. `files`: the names of outputs that are files or folders."""

    values: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def document(self) -> dict[str, Any] | None:
        """What is kept of it; None for nothing."""
        return {"values": dict(self.values), "files": list(self.files)} if self.values or self.files else None


def input_variable(name: str) -> str:
    """`MILL_INPUT_TRAIN_DATA` for the input `train-data`."""
    return f"MILL_INPUT_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"


def folders_to_make(outputs: Iterable[StepOutput]) -> list[str]:
    """Outputs whose folder is there before the command begins."""
    return [one.name for one in outputs if one.type not in VALUE_TYPES and one.type not in FILE_TYPES]


def outcome_of(outputs: Iterable[StepOutput], text: bytes | None, made: Collection[str]) -> StepOutcome:
    """`text` is what the step wrote to $MILL_VALUES, `made` what lies in its output folder and is not empty."""
    told = _read_values(text)
    if isinstance(told, str):
        return StepOutcome(problem=told)
    values: dict[str, Any] = {}
    files: list[str] = []
    for one in outputs:
        if one.type in VALUE_TYPES and told.get(one.name) is not None:
            wrong = why_wrong(Param(f"output {one.name}", one.type), told[one.name])
            if wrong:
                return StepOutcome(problem=wrong)
            values[one.name] = told[one.name]
        elif one.type not in VALUE_TYPES and one.name in made:
            files.append(one.name)
        elif one.required:
            return StepOutcome(problem=f"missing output {one.name}")
    return StepOutcome(values, tuple(files))


def _read_values(text: bytes | None) -> Mapping[str, Any] | str:
    if text is None:
        return {}
    if len(text) > MAX_VALUE_BYTES:
        return f"$MILL_VALUES holds {len(text):,} bytes; at most {MAX_VALUE_BYTES:,} are allowed."
    try:
        told = json.loads(text)
    except ValueError as error:
        return f"$MILL_VALUES is not JSON: {error}"
    return told if isinstance(told, dict) else "$MILL_VALUES must hold a JSON object."
