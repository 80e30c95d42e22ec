"""YAML 1.2 as people mean it: `no` is a word, a key stands once, and every value knows its line and column.

Only what a field needs as a number or a boolean is read as one (the core schema's); everything else stays the text that
was written, so `1.10` in an environment is `1.10`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from millpond.errors import BadRequest

Path = tuple[str | int, ...]

_NULL = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_MAP, _LIST = yaml.MappingNode, yaml.SequenceNode


@dataclass(frozen=True, slots=True)
class YamlText:
    """`value` is made of mappings, lists and text (None for a plain null); `places` says where each part stands."""

    file: str
    value: Any
    # Line and column, from 1, by the path to a value.
    places: Mapping[Path, tuple[int, int]]

    def inside(self, key: str) -> YamlText:
        """The part below a key, with the places it has in the file."""
        places = {path[1:]: place for path, place in self.places.items() if path[:1] == (key,)}
        return YamlText(self.file, self.value[key], places)

    def error(self, path: Path, message: str, hint: str | None = None) -> BadRequest:
        """An error that names the place of `path`, or of what is nearest above it."""
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return BadRequest(f"{self.file}:{line}:{column}: {message}", hint=hint)


def read_yaml(text: str, file: str) -> YamlText:
    """The one document of a file. Raises BadRequest with line and column."""
    places: dict[Path, tuple[int, int]] = {}
    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise BadRequest(f"{file}{where}: {error.problem or 'This is not YAML'}.") from None
    except yaml.YAMLError as error:
        raise BadRequest(f"{file}: {error}") from None
    found = YamlText(file, None, places)
    return YamlText(file, None if node is None else _value(node, (), found, places, ()), places)


def as_int(text: Any) -> Any:
    """A whole number of the core schema; anything else as it is, for whoever checks it."""
    if not isinstance(text, str) or not _INT.fullmatch(text):
        return text
    return int(text, 0 if text[:2] in ("0o", "0x") else 10)


def as_bool(text: Any) -> Any:
    return _BOOLEANS.get(text, text) if isinstance(text, str) else text


def _value(
    node: yaml.Node, path: Path, found: YamlText, places: dict[Path, tuple[int, int]], above: tuple[int, ...]
) -> Any:
    places.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if id(node) in above:
        raise found.error(path, "An alias cannot contain itself.")
    above = (*above, id(node))
    if isinstance(node, _MAP):
        return _mapping(node, path, found, places, above)
    if isinstance(node, _LIST):
        return [_value(item, (*path, index), found, places, above) for index, item in enumerate(node.value)]
    is_null = isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NULL
    return None if is_null else node.value


def _mapping(
    node: yaml.MappingNode, path: Path, found: YamlText, places: dict[Path, tuple[int, int]], above: tuple[int, ...]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise BadRequest(f"{found.file}:{key.start_mark.line + 1}:{key.start_mark.column + 1}: A key must be text.")
        place = (key.start_mark.line + 1, key.start_mark.column + 1)
        if key.value in values:
            first = places[(*path, key.value)][0]
            raise BadRequest(
                f"{found.file}:{place[0]}:{place[1]}: The key {key.value!r} is there twice, first in line {first}."
            )
        places[(*path, key.value)] = place
        values[key.value] = _value(item, (*path, key.value), found, places, above)
    return values
