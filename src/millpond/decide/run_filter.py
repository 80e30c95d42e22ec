"""The language that runs are filtered and sorted in: MLflow's, with `or`, brackets, and min() and max() of a metric.

    metrics.acc > 0.9 and params.lr = '0.1' and (tags.team like '%vision%' or attributes.status = 'FINISHED')

Keys with other characters than letters, digits, `_`, `-`, `.` and `/` stand in backticks or double quotes. Every error
names the word and its position. Other nouns are filtered in the same language with `Words` of their own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn, TypeVar

from millpond.decide.filter_words import KINDS, RUN_WORDS, Words
from millpond.errors import BadRequest
from millpond.model.run import RunState
from millpond.model.run_query import (
    ANY_RUN,
    Attribute,
    Comparison,
    Condition,
    Field,
    FieldKind,
    Group,
    Operator,
    SortKey,
    Value,
)

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<quoted>`[^`]*`)
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<word>[A-Za-z_][\w/-]*)
      | (?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,|\.)
      | (?P<other>\S)
    )""",
    re.VERBOSE,
)
_STATES: dict[str, tuple[RunState, ...]] = {state.value: (state,) for state in RunState} | {
    "finished": (RunState.SUCCEEDED,), "killed": (RunState.CANCELLED, RunState.LOST), "scheduled": (),
}  # fmt: skip
_SIGNS = {
    "=": Operator.EQUAL, "==": Operator.EQUAL, "!=": Operator.UNEQUAL, "<>": Operator.UNEQUAL,
    "<": Operator.LESS, "<=": Operator.AT_MOST, ">": Operator.GREATER, ">=": Operator.AT_LEAST,
}  # fmt: skip
_STATE = Field(FieldKind.ATTRIBUTE, Attribute.STATE.value)
_MOST_DEPTH = 50
_MOST_QUOTED = 80

# Attributes that hardly two runs share.
_OWN = tuple(
    Field(FieldKind.ATTRIBUTE, attribute.value)
    for attribute in Attribute
    if attribute.is_number or attribute in (Attribute.ID, Attribute.JOB)
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    # From 0; -1 for the end.
    at: int

    @property
    def low(self) -> str:
        return self.text.lower() if self.kind == "word" else self.text


def parse_filter(text: str, words: Words = RUN_WORDS) -> Condition:
    """BadRequest points at the word that is wrong. A filter of nothing but blanks matches every run."""
    parser = _Parser(text, "filter", words)
    return ANY_RUN if parser.is_done else parser.whole(parser.condition)


def parse_sort(text: str, words: Words = RUN_WORDS) -> tuple[SortKey, ...]:
    """`metrics.acc desc, started_at`; empty for none."""
    parser = _Parser(text, "sort", words)
    return () if parser.is_done else parser.whole(lambda: parser.list_of(parser.sort_key))


def parse_columns(text: str) -> tuple[Field, ...]:
    """`params.lr, metrics.acc, min(metrics.loss), tags.team`."""
    parser = _Parser(text, "columns")
    return () if parser.is_done else parser.whole(lambda: parser.list_of(parser.field))


def parse_group(text: str) -> Field:
    """What runs are grouped by: a parameter, a tag or an attribute that several runs may share."""
    parser = _Parser(text, "group")
    return parser.whole(parser.group)


class _Parser:
    def __init__(self, text: str, name: str, words: Words = RUN_WORDS) -> None:
        self._name = name
        self._words = words
        self._tokens = [_token(match) for match in _TOKEN.finditer(text)]
        self._next = 0
        self._depth = 0

    @property
    def is_done(self) -> bool:
        return self._next >= len(self._tokens)

    def whole(self, rule: Callable[[], T]) -> T:
        found = rule()
        if not self.is_done:
            self._fail(self._peek(), "expected 'and', 'or' or the end" if self._name == "filter" else "expected ','")
        return found

    def list_of(self, rule: Callable[[], T]) -> tuple[T, ...]:
        found = [rule()]
        while self._take(","):
            found.append(rule())
        return tuple(found)

    def condition(self) -> Condition:
        parts = [self._all()]
        while self._take("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Group("or", tuple(parts))

    def sort_key(self) -> SortKey:
        field = self.field()
        descending = self._take("desc")
        if not descending:
            self._take("asc")
        return SortKey(field, descending)

    def field(self) -> Field:
        expected = f"a field like {self._words.written} or an attribute"
        token = self._any(expected)
        if token.low in ("min", "max", "last") and self._take("("):
            inner = self.field()
            if inner.kind is not FieldKind.METRIC:
                self._fail(token, f"{token.text}() takes a metric, like {token.low}(metrics.loss)")
            self._expect(")")
            return Field(inner.kind, inner.key, Value(token.low))
        if token.kind != "word":
            self._fail(token, f"expected {expected}")
        if not self._take("."):
            return self._attribute(token)
        kind = KINDS.get(token.low)
        if kind is None or kind not in (*self._words.kinds, FieldKind.ATTRIBUTE):
            known = [*(one.value for one in self._words.kinds), FieldKind.ATTRIBUTE.value]
            self._fail(token, f"expected {', '.join(known[:-1])} or {known[-1]}", known=known)
        if kind is FieldKind.ATTRIBUTE:
            return self._attribute(self._any("an attribute"))
        key = self._key(token)
        if kind is FieldKind.TAG and key in self._words.tags:
            return Field(FieldKind.ATTRIBUTE, self._words.tags[key])
        return Field(kind, key)

    def group(self) -> Field:
        token = self._peek()
        field = self.field()
        if field.kind is FieldKind.METRIC or field in _OWN:
            self._fail(token, "runs are grouped by params.KEY, tags.KEY, experiment, state, user, name or parent")
        return field

    def _all(self) -> Condition:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Group("and", tuple(parts))

    def _one(self) -> Condition:
        if not self._take("("):
            return self._comparison()
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            self._fail(self._tokens[self._next - 1], f"more than {_MOST_DEPTH} brackets inside each other")
        inner = self.condition()
        self._expect(")")
        self._depth -= 1
        return inner

    def _comparison(self) -> Condition:
        field = self.field()
        token = self._any("an operator, like = or >")
        operator = self._operator(token)
        if operator in (Operator.IS_NULL, Operator.IS_NOT_NULL):
            return Comparison(field, operator, None)
        if operator in (Operator.IN, Operator.NOT_IN):
            return self._listed(field, operator, token)
        if operator in (Operator.LIKE, Operator.ILIKE):
            self._check_text(field, token)
            return Comparison(field, operator, self._text())
        return self._compared(field, operator, token)

    def _compared(self, field: Field, operator: Operator, sign: _Token) -> Condition:
        attribute = field.key if field.kind is FieldKind.ATTRIBUTE else None
        if field == _STATE:
            self._check_equality(field, operator, sign)
            token = self._peek()
            states = self._states(token, self._text())
            return Comparison(field, Operator.IN if operator is Operator.EQUAL else Operator.NOT_IN, states)
        if attribute in self._words.times:
            return Comparison(field, operator, self._moment())
        if attribute in self._words.numbers:
            return Comparison(field, operator, self._number("a number without quotes"))
        if field.kind is FieldKind.METRIC:
            return Comparison(field, operator, self._number("a number: metrics are compared with numbers"))
        if field.kind is FieldKind.PARAM and self._peek().kind == "number":
            return Comparison(field, operator, self._number("a number"))
        self._check_equality(field, operator, sign)
        return Comparison(field, operator, self._text())

    def _listed(self, field: Field, operator: Operator, token: _Token) -> Condition:
        self._check_text(field, token)
        self._expect("(")
        first = self._peek()
        values = self.list_of(self._text)
        self._expect(")")
        if field == _STATE:
            values = tuple(state for value in values for state in self._states(first, value))
        return Comparison(field, operator, values)

    def _operator(self, token: _Token) -> Operator:
        if token.text in _SIGNS:
            return _SIGNS[token.text]
        match token.low:
            case "like":
                return Operator.LIKE
            case "ilike":
                return Operator.ILIKE
            case "in":
                return Operator.IN
            case "not":
                self._expect("in")
                return Operator.NOT_IN
            case "is":
                negated = self._take("not")
                self._expect("null")
                return Operator.IS_NOT_NULL if negated else Operator.IS_NULL
        raise self._error(token, "expected an operator: = != < <= > >= like, ilike, in, not in, is null, is not null")

    def _attribute(self, token: _Token) -> Field:
        attributes = self._words.attributes
        found = attributes.get(token.text) or attributes.get(token.low)
        if found is None:
            known = {*attributes, *(kind.value for kind in self._words.kinds)}
            self._fail(token, f"expected {self._words.written} or an attribute", known=known)
        return Field(FieldKind.ATTRIBUTE, found)

    def _key(self, kind: _Token) -> str:
        """Words and numbers joined by dots, or a quoted text."""
        token = self._any(f"a key after {kind.text}.")
        if token.kind in ("quoted", "text"):
            return token.text[1:-1]
        if token.kind not in ("word", "number"):
            self._fail(token, f"expected a key after {kind.text}.; put other characters in backticks")
        key, end = token.text, token.at + len(token.text)
        # What follows without a blank belongs to the key: dots, and numbers behind them.
        while not self.is_done and self._peek().at == end and self._peek().kind in ("word", "number", "sign"):
            if self._peek().kind == "sign" and self._peek().text != ".":
                break
            part = self._any("a key")
            key, end = key + part.text, part.at + len(part.text)
        return key

    def _number(self, expected: str) -> float:
        token = self._any(expected)
        if token.kind != "number":
            self._fail(token, f"expected {expected}")
        return float(token.text)

    def _text(self) -> str:
        token = self._any("a text in quotes")
        if token.kind != "text":
            self._fail(token, "expected a text in quotes, like '0.1'")
        return re.sub(r"\\(.)", r"\1", token.text[1:-1])

    def _moment(self) -> float:
        token = self._any("a time")
        if token.kind == "number":
            return float(token.text)
        try:
            moment = datetime.fromisoformat(token.text[1:-1])
        except ValueError:
            self._fail(token, "expected milliseconds since 1970, or a time like '2026-11-18T09:30:00'")
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return moment.timestamp() * 1000

    def _states(self, token: _Token, text: str) -> tuple[str, ...]:
        found = _STATES.get(text.lower())
        if found is None:
            self._fail(token, f"expected a state: {', '.join(_STATES)}", known=_STATES)
        return tuple(state.value for state in found)

    def _check_text(self, field: Field, operator: _Token) -> None:
        is_number = field.key in (*self._words.times, *self._words.numbers) and field.kind is FieldKind.ATTRIBUTE
        if field.kind is FieldKind.METRIC or is_number:
            self._fail(operator, f"{field.key} is a number: compare it with = != < <= > >=")

    def _check_equality(self, field: Field, operator: Operator, sign: _Token) -> None:
        if operator not in (Operator.EQUAL, Operator.UNEQUAL):
            hint = "; write the number without quotes" if field.kind is FieldKind.PARAM else ""
            self._fail(sign, f"a text is compared with = != like, ilike or in{hint}")

    def _peek(self) -> _Token:
        return _END if self.is_done else self._tokens[self._next]

    def _any(self, expected: str) -> _Token:
        token = self._peek()
        if token is _END:
            self._fail(token, f"expected {expected}")
        self._next += 1
        return token

    def _take(self, text: str) -> bool:
        token = self._peek()
        if token.kind in ("word", "sign") and token.low == text:
            self._next += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            self._fail(self._peek(), f"expected '{text}'")

    def _fail(self, token: _Token, expected: str, known: Collection[str] = ()) -> NoReturn:
        raise self._error(token, expected, known)

    def _error(self, token: _Token, expected: str, known: Collection[str] = ()) -> BadRequest:
        return _error(self._name, token, expected, known)


_END = _Token("end", "", -1)


def _token(match: re.Match[str]) -> _Token:
    kind = match.lastgroup or "other"
    return _Token(kind, match.group(kind), match.start(kind))


def _error(name: str, token: _Token, expected: str, known: Collection[str]) -> BadRequest:
    if token is _END:
        return BadRequest(f"The {name} ends too early: {expected}.", position=None, word=None)
    near: Sequence[str] = difflib.get_close_matches(token.low.strip("'\""), sorted(known), n=1, cutoff=0.6)
    word = token.text if len(token.text) <= _MOST_QUOTED else f"{token.text[:_MOST_QUOTED]}…"
    return BadRequest(
        f"Error in the {name} at {word!r}, character {token.at + 1}: {expected}.",
        hint=f"Did you mean {near[0]!r}?" if near else None,
        position=token.at,
        word=word,
    )
