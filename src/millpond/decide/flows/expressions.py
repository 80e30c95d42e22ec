"""References (`${steps.split.outputs.train}`) and the conditions of `when`: parsed, checked, evaluated.

No calls, no attributes, no arithmetic: what a flow may say is what its author and a reader can see at once. `$${` is a
literal `${`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]*"
_REFERENCES = re.compile(
    rf"params\.(?P<param>{_NAME})"
    rf"|steps\.(?P<step>{_NAME})(?P<all>\[\*\])?(?:\.outputs\.(?P<output>{_NAME}))?"
    rf"|each\.(?P<each>{_NAME})"
    r"|(?P<fixed>run\.id|trigger\.commit)"
)
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)(?![A-Za-z_])"
    r"|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<operator>==|!=|<=|>=|<|>|\(|\))"
    rf"|(?P<word>{_NAME}(?:\[\*\])?(?:\.{_NAME}(?:\[\*\])?)*))"
)
_LITERALS = {"true": True, "false": False, "null": None}
_OPEN, _ESCAPED = "${", "$${"
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class ExpressionError(Exception):
    """What cannot be read, `offset` characters into the text, and what to write instead."""

    def __init__(self, message: str, offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.offset, self.hint = message, offset, hint


class RefKind(Enum):
    PARAM = "param"
    STEP = "step"  # a dataset node itself
    OUTPUT = "output"
    OUTPUTS = "outputs"  # of all instances of a step that runs over a list
    EACH = "each"
    FIXED = "fixed"  # run.id, trigger.commit


@dataclass(frozen=True, slots=True)
class Ref:
    kind: RefKind
    name: str  # of the parameter, output or key
    step: str = ""

    def __str__(self) -> str:
        match self.kind:
            case RefKind.PARAM:
                return f"${{params.{self.name}}}"
            case RefKind.STEP:
                return f"${{steps.{self.step}}}"
            case RefKind.OUTPUT:
                return f"${{steps.{self.step}.outputs.{self.name}}}"
            case RefKind.OUTPUTS:
                return f"${{steps.{self.step}[*].outputs.{self.name}}}"
            case RefKind.EACH:
                return f"${{each.{self.name}}}"
            case RefKind.FIXED:
                return f"${{{self.name}}}"


Lookup = Callable[[Ref], Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A text with references in it."""

    parts: tuple[str | Ref, ...]

    @property
    def exact(self) -> Ref | None:
        """The reference that is all of the text: its value keeps its type."""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], Ref) else None

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(part for part in self.parts if isinstance(part, Ref))

    def resolve(self, lookup: Lookup) -> Any:
        if self.exact is not None:
            return lookup(self.exact)
        return "".join(part if isinstance(part, str) else as_text(lookup(part)) for part in self.parts)


def as_text(value: Any) -> str:
    """A scalar inside a text, as YAML and JSON write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def parse_text(text: str) -> Text:
    """The literals and references of a text. ExpressionError for `${` that is not closed or not a reference."""
    parts: list[str | Ref] = []
    literal, at = "", 0
    while at < len(text):
        if text.startswith(_ESCAPED, at):
            literal, at = literal + _OPEN, at + len(_ESCAPED)
        elif text.startswith(_OPEN, at):
            end = _closing(text, at)
            parts += [literal] if literal else []
            parts.append(parse_ref(text[at + 2 : end], at + 2))
            literal, at = "", end + 1
        else:
            literal, at = literal + text[at], at + 1
    return Text((*parts, literal) if literal or not parts else tuple(parts))


def exact_ref(text: str) -> Ref | None:
    """The reference that is all of the text; None if it is something else, or cannot be read."""
    try:
        return parse_text(text).exact
    except ExpressionError:
        return None


def parse_ref(text: str, offset: int = 0) -> Ref:
    found = _REFERENCES.fullmatch(text.strip())
    if found is None:
        raise ExpressionError(
            f"{text.strip()!r} is not a reference.",
            offset,
            "Write params.NAME, steps.NAME, steps.NAME.outputs.NAME, each.NAME, run.id or trigger.commit.",
        )
    if found["param"]:
        return Ref(RefKind.PARAM, found["param"])
    if found["each"]:
        return Ref(RefKind.EACH, found["each"])
    if found["fixed"]:
        return Ref(RefKind.FIXED, found["fixed"])
    if not found["output"]:
        if found["all"]:
            raise ExpressionError(f"{text!r} names no output.", offset, f"Write {text.strip()}.outputs.NAME.")
        return Ref(RefKind.STEP, found["step"], found["step"])
    return Ref(RefKind.OUTPUTS if found["all"] else RefKind.OUTPUT, found["output"], found["step"])


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Operation:
    """`not` has one operand, everything else two."""

    operator: str
    operands: tuple[Condition, ...]


Condition = Literal | Ref | Operation


def parse_condition(text: str) -> Condition:
    """`${steps.pick.outputs.accuracy >= 0.8 and params.register}`."""
    stripped = text.strip()
    if not stripped.startswith(_OPEN) or not stripped.endswith("}"):
        raise ExpressionError("A condition must be one expression.", 0, "Write it as ${params.x > 0}.")
    start = text.index(_OPEN) + 2
    return _Parser(list(_tokens(text[start : text.rindex("}")], start)), text.rindex("}")).whole()


def refs_of(condition: Condition) -> tuple[Ref, ...]:
    if isinstance(condition, Ref):
        return (condition,)
    return () if isinstance(condition, Literal) else tuple(r for one in condition.operands for r in refs_of(one))


def evaluate(condition: Condition, lookup: Lookup) -> Any:
    """ExpressionError where values cannot be compared."""
    if isinstance(condition, Literal):
        return condition.value
    if isinstance(condition, Ref):
        return lookup(condition)
    if condition.operator == "not":
        return not evaluate(condition.operands[0], lookup)
    left = evaluate(condition.operands[0], lookup)
    if condition.operator in ("and", "or"):
        is_decided = not left if condition.operator == "and" else left
        return bool(left) if is_decided else bool(evaluate(condition.operands[1], lookup))
    return _compare(condition.operator, left, evaluate(condition.operands[1], lookup))


def _compare(operator: str, left: Any, right: Any) -> bool:
    if operator in ("==", "!="):
        return bool((left == right) is (operator == "=="))
    try:
        match operator:
            case "<":
                return bool(left < right)
            case "<=":
                return bool(left <= right)
            case ">":
                return bool(left > right)
            case _:
                return bool(left >= right)
    except TypeError:
        raise ExpressionError(f"{as_text(left)!r} {operator} {as_text(right)!r} cannot be compared.") from None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


def _tokens(text: str, offset: int) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            rest = text[at:].lstrip()
            raise ExpressionError(
                f"Cannot read {rest[:20]!r}.", offset + len(text) - len(rest), "Operators: == != < <= > >= and or not."
            )
        yield _Token(found.lastgroup, found[found.lastgroup], offset + found.start(found.lastgroup))
        at = found.end()


class _Parser:
    """`or` binds least, then `and`, `not`, comparisons."""

    def __init__(self, tokens: list[_Token], end: int) -> None:
        self._tokens, self._end, self._at = tokens, end, 0

    def whole(self) -> Condition:
        found = self._either()
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            raise ExpressionError(f"{token.text!r} is not expected here.", token.offset)
        return found

    def _either(self) -> Condition:
        found = self._both()
        while self._take("or"):
            found = Operation("or", (found, self._both()))
        return found

    def _both(self) -> Condition:
        found = self._negated()
        while self._take("and"):
            found = Operation("and", (found, self._negated()))
        return found

    def _negated(self) -> Condition:
        return Operation("not", (self._negated(),)) if self._take("not") else self._comparison()

    def _comparison(self) -> Condition:
        left = self._operand()
        operator = next((one for one in _COMPARISONS if self._take(one)), None)
        return left if operator is None else Operation(operator, (left, self._operand()))

    def _operand(self) -> Condition:
        if self._at == len(self._tokens):
            raise ExpressionError("The condition ends too early.", self._end)
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "number":
            return Literal(float(token.text) if set(token.text) & set(".eE") else int(token.text))
        if token.kind == "text":
            return Literal(token.text[1:-1])
        if token.text == "(":
            found = self._either()
            if not self._take(")"):
                raise ExpressionError("A ( is not closed.", token.offset)
            return found
        if token.kind == "operator" or token.text in ("and", "or"):
            raise ExpressionError(f"{token.text!r} is not expected here.", token.offset)
        return Literal(_LITERALS[token.text]) if token.text in _LITERALS else parse_ref(token.text, token.offset)

    def _take(self, text: str) -> bool:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.text != text or token.kind not in ("operator", "word"):
            return False
        self._at += 1
        return True


def _closing(text: str, start: int) -> int:
    end = text.find("}", start)
    if end < 0:
        raise ExpressionError("A ${ is not closed.", start, "Write $${ for a literal ${.")
    return end
