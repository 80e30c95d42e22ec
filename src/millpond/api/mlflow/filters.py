"""MLflow's filter language for what is searched in memory: experiments, logged models, registered models, versions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from millpond.api.mlflow.endpoint import Call, one_text
from millpond.decide.filter_words import Words
from millpond.decide.run_filter import parse_filter, parse_sort
from millpond.model.run_query import Condition, Field, FieldKind, Group, Operator
from millpond.services import listing

T = TypeVar("T")
# The value of a field of something; None if it has none.
Lookup = Callable[[T, Field], Any]

# Models do not have it: to clients that ask for "no prompts", absent is as good as false.
_PROMPT_TAG = Field(FieldKind.TAG, "mlflow.prompt.is_prompt")
_COMPARED: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.UNEQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.GREATER: operator.gt,
    Operator.AT_LEAST: operator.ge,
}


def search(
    call: Call,
    items: Iterable[T],
    words: Words,
    value_of: Lookup[T],
    *,
    order: str,
    ties: str,
    most: int,
    default: int,
) -> tuple[Sequence[T], str | None]:
    """One page of the items that meet the call's filter, in its order, and the token of the next page.

    `order` is that of a call that asks for none; `ties` decides what is equal in both.
    """
    limit = call.limit(default, most)
    where = parse_filter(call.optional("filter") or "", words)
    found = [item for item in items if holds(where, item, value_of)]
    asked = ", ".join(_order(item) for item in call.many("order_by"))
    for key in reversed((*parse_sort(asked or order, words), *parse_sort(ties, words))):
        present = [item for item in found if value_of(item, key.field) is not None]
        absent = [item for item in found if value_of(item, key.field) is None]
        found = [*sorted(present, key=lambda item: value_of(item, key.field), reverse=key.descending), *absent]
    begin = listing.number_of(call.optional("page_token") or None) or 0
    end = begin + limit
    return found[begin:end], listing.encode(end) if len(found) > end else None


def holds(condition: Condition, item: T, value_of: Lookup[T]) -> bool:
    if isinstance(condition, Group):
        results = (holds(part, item, value_of) for part in condition.parts)
        return all(results) if condition.word == "and" else any(results)
    value = value_of(item, condition.field)
    if condition.operator in (Operator.IS_NULL, Operator.IS_NOT_NULL):
        return (value is None) == (condition.operator is Operator.IS_NULL)
    if value is None and condition.field == _PROMPT_TAG:
        value = "false"
    return value is not None and _matches(condition.operator, value, condition.operand)


def _matches(sign: Operator, value: Any, operand: Any) -> bool:
    match sign:
        case Operator.IN | Operator.NOT_IN:
            return (value in operand) == (sign is Operator.IN)
        case Operator.LIKE:
            return fnmatchcase(value, _pattern(operand))
        case Operator.ILIKE:
            return fnmatchcase(value.lower(), _pattern(operand.lower()))
    return _COMPARED[sign](value, operand)


def _pattern(like: str) -> str:
    wild = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(wild.get(character, character) for character in like)


def _order(item: Any) -> str:
    """Of logged models, clients write an order as an object."""
    if isinstance(item, dict) and isinstance(item.get("field_name"), str):
        return f"{item['field_name']} {'asc' if item.get('ascending', True) else 'desc'}"
    return one_text(item)
