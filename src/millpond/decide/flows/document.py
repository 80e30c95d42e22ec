"""YAML 1.2 (core schema) with the place of every key and value.

Only `true` and `false` are booleans and every key is text, so `on:` and `n:` stay what was written. A key that stands
twice is a problem, not a silent choice. libyaml does the parsing where PyYAML was built with it: 500 steps take 80 ms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from millpond.model.flow import FlowProblem

Path = tuple[str | int, ...]

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
}
# Longer ones stay text: Python refuses to read them as numbers.
_INT = re.compile(r"[-+]?[0-9]{1,4000}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Aliases repeat what they stand for: a few lines can stand for billions of nodes.
MAX_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Document:
    """`value` is made of dicts, lists and scalars. Lines and columns count from 1."""

    value: Any
    keys: Mapping[Path, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[Path, tuple[int, int]] = field(default_factory=dict)

    def problem(self, path: Path, code: str, message: str, hint: str = "", *, at_key: bool = False) -> FlowProblem:
        """A problem at the value of `path`, or at what is nearest above it."""
        wanted = path
        while True:
            place = self.keys.get(path) if at_key else self.values.get(path) or self.keys.get(path)
            if place or not path:
                line, column = place or (1, 1)
                return FlowProblem(line, column, written(wanted), code, message, hint)
            path = path[:-1]


def written(path: Path) -> str:
    """`steps.train.each.lr[0]`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_document(text: str) -> tuple[Document, list[FlowProblem]]:
    """The one document of a text, and what is wrong with it as YAML. Never raises."""
    try:
        nodes = list(yaml.compose_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return Document(None), [_not_yaml(line, column, error.problem or "unreadable")]
    except yaml.YAMLError as error:
        return Document(None), [_not_yaml(1, 1, str(error).splitlines()[0])]
    if len(nodes) != 1 or nodes[0] is None:
        what = "The file is empty." if not nodes or nodes[0] is None else "The file holds several documents."
        return Document(None), [FlowProblem(1, 1, "", "yaml", what, "Write one YAML document.")]
    reader = _Reader()
    value = reader.value(nodes[0], (), frozenset())
    return Document(value, reader.keys, reader.values), reader.problems


class _Reader:
    def __init__(self) -> None:
        self.keys: dict[Path, tuple[int, int]] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self.problems: list[FlowProblem] = []
        self._count = 0

    def value(self, node: yaml.Node, path: Path, above: frozenset[int]) -> Any:
        self._count += 1
        self.values[path] = _place(node)
        if id(node) in above:
            return self._refuse(node, path, "An alias cannot contain itself.")
        if self._count > MAX_NODES:
            if self._count == MAX_NODES + 1:
                self._refuse(node, path, f"The file stands for more than {MAX_NODES:,} values.")
            return None
        if isinstance(node, yaml.MappingNode):
            return dict(self._items(node, path, above | {id(node)}))
        if isinstance(node, yaml.SequenceNode):
            inside = above | {id(node)}
            return [self.value(item, (*path, index), inside) for index, item in enumerate(node.value)]
        is_plain = isinstance(node, yaml.ScalarNode) and not node.style
        return self._finite(node, path, scalar(node.value)) if is_plain else node.value

    def _finite(self, node: yaml.Node, path: Path, value: Any) -> Any:
        """The value itself. Steps get theirs as JSON, which knows no `.inf` and no `.nan`."""
        if isinstance(value, float) and not math.isfinite(value):
            return self._refuse(node, path, f"{node.value} cannot be a value: JSON has no such number.")
        return value

    def _items(self, node: yaml.MappingNode, path: Path, above: frozenset[int]) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(key, path, "A key must be text.")
                continue
            inside = (*path, key.value)
            if key.value in seen:
                line, column = _place(key)
                message = f"The key {key.value!r} stands twice, first in line {seen[key.value]}."
                hint = "Remove one of them."
                self.problems.append(FlowProblem(line, column, written(inside), "duplicate-key", message, hint))
                continue
            seen[key.value] = _place(key)[0]
            self.keys[inside] = _place(key)
            yield key.value, self.value(item, inside, above)

    def _refuse(self, node: yaml.Node, path: Path, message: str) -> None:
        line, column = _place(node)
        self.problems.append(FlowProblem(line, column, written(path), "yaml", message))


def scalar(text: str) -> Any:
    """What a plain (unquoted) scalar stands for in the core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if text[:2] in ("0o", "0x"):
        try:
            return int(text, 0)
        except ValueError:
            return text
    return float(text) if _FLOAT.fullmatch(text) else text


def _place(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _not_yaml(line: int, column: int, what: str) -> FlowProblem:
    return FlowProblem(
        line,
        column,
        "",
        "yaml",
        f"This is not YAML: {what}.",
        "Put values that hold braces, brackets, ': ' or ' #' in quotes.",
    )
