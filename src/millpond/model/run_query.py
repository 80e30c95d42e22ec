"""What people ask of runs: conditions, an order, columns. Written as text (decide/run_filter.py), carried out in db."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Literal


class FieldKind(Enum):
    METRIC = "metrics"
    PARAM = "params"
    TAG = "tags"
    ATTRIBUTE = "attributes"


class Attribute(Enum):
    """Columns of a run that can be asked for; parsing knows MLflow's names of them, too."""

    ID = "id"
    NAME = "name"
    STATE = "state"
    EXPERIMENT = "experiment"
    USER = "user"
    JOB = "job"
    PARENT = "parent"
    STARTED_AT = "started_at"
    ENDED_AT = "ended_at"
    # Seconds; none while it runs.
    DURATION = "duration"

    @property
    def is_time(self) -> bool:
        return self in (Attribute.STARTED_AT, Attribute.ENDED_AT)

    @property
    def is_number(self) -> bool:
        """Times count: they are milliseconds."""
        return self.is_time or self is Attribute.DURATION


class Value(Enum):
    """Which value of a metric is meant."""

    LAST = "last"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Field:
    """For an attribute, `key` is the value of its enum."""

    kind: FieldKind
    key: str
    value: Value = Value.LAST

    @property
    def written(self) -> str:
        """As the filter language writes it."""
        if self.kind is FieldKind.ATTRIBUTE:
            return self.key
        plain = f"{self.kind.value}.{self.key if _PLAIN_KEY.fullmatch(self.key) else _quoted(self.key)}"
        return plain if self.value is Value.LAST else f"{self.value.value}({plain})"


# What the filter language reads as one key without quotes.
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w/-]*(\.[A-Za-z_][\w/-]*)*")


def _quoted(key: str) -> str:
    """In backticks, or in double quotes if it has any; one with both cannot be written."""
    return f'"{key}"' if "`" in key else f"`{key}`"


def written_text(text: str) -> str:
    """A text as the filter language quotes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Operator(Enum):
    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    LIKE = "like"  # case-sensitive
    ILIKE = "ilike"
    IN = "in"
    NOT_IN = "not in"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Times are milliseconds since 1970. `operand` is a tuple for IN and NOT_IN, None for the two about null."""

    field: Field
    operator: Operator
    operand: str | float | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions that must all hold, or of which one must. `and` of none holds always."""

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition = Comparison | Group
ANY_RUN = Group("and", ())


@dataclass(frozen=True, slots=True)
class SortKey:
    field: Field
    descending: bool = False
