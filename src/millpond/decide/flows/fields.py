"""Reads typed fields out of a document and notes what is wrong, instead of stopping at the first mistake."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from millpond.decide.flows.document import Document, Path
from millpond.errors import MillError
from millpond.model.flow import FlowProblem
from millpond.model.quantity import parse_seconds

T = TypeVar("T")

_WRITTEN = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a whole number"}


class Fields:
    """One mapping of a document. Getters return their default for a missing or wrong value, and note a wrong one."""

    def __init__(self, document: Document, path: Path, problems: list[FlowProblem]) -> None:
        self.document, self.path, self.problems = document, path, problems
        value = at(document.value, path)
        self.is_mapping = isinstance(value, dict)
        self.value: Mapping[str, Any] = value if isinstance(value, dict) else {}
        if not self.is_mapping and value is not None:
            self.note((), "type", f"Expected a mapping, found {describe(value)}.")

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def note(self, path: Path, code: str, message: str, hint: str = "", *, at_key: bool = False) -> None:
        self.problems.append(self.document.problem((*self.path, *path), code, message, hint, at_key=at_key))

    def inside(self, key: str) -> Fields:
        return Fields(self.document, (*self.path, key), self.problems)

    def only(self, known: Collection[str]) -> None:
        """Note every key that is not known, with the nearest one that is."""
        for key in self.value:
            if key not in known:
                self.note((key,), "unknown-key", f"Unknown key {key!r}.", nearest(key, known), at_key=True)

    def text(self, key: str, default: str = "") -> str:
        value = self.value.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        found: str = self._of_type(key, str, default)
        return found

    def optional_text(self, key: str) -> str | None:
        return self.text(key) or None

    def flag(self, key: str, default: bool) -> bool:
        found: bool = self._of_type(key, bool, default)
        return found

    def optional_flag(self, key: str) -> bool | None:
        found: bool | None = self._of_type(key, bool, None)
        return found

    def number(self, key: str, default: T, *, least: int = 0, most: int = 1_000_000) -> int | T:
        value = self.value.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.note((key,), "value", f"{key} must be a whole number from {least:,} to {most:,}.")
            return default
        return value

    def seconds(self, key: str, default: T) -> int | T:
        value = self.value.get(key)
        if value is None:
            return default
        found: int | T = self.parsed((key,), parse_seconds, str(value), default)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.value.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str | int | float) for one in value):
            self.note((key,), "type", f"{key} must be a list of texts.")
            return ()
        return tuple(str(one) for one in value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._of_type(key, dict, {})
        return found

    def choice(self, key: str, choices: Iterable[str], default: str) -> str:
        value = self.text(key, default)
        known = list(choices)
        if value in known:
            return value
        self.note((key,), "value", f"{key} cannot be {value!r}.", f"Choose one of: {', '.join(known)}.")
        return default

    def parsed(self, path: Path, parse: Callable[[str], T], text: str, default: Any) -> Any:
        try:
            return parse(text)
        except MillError as error:
            self.note(path, "value", error.message, error.hint or "")
            return default

    def _of_type(self, key: str, kind: type, default: Any) -> Any:
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.note((key,), "type", f"{key} must be {_WRITTEN[kind]}, not {describe(value)}.")
            return default
        return value


def at(value: Any, path: Path) -> Any:
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names what was probably meant, or all there is."""
    names = sorted(known)
    found = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if found:
        return f"Did you mean {found[0]!r}?"
    return f"Known: {', '.join(names)}." if names else "There are none."


def describe(value: Any) -> str:
    if value is None:
        return "nothing"
    named = next((text for kind, text in _WRITTEN.items() if type(value) is kind), "a number")
    return f"{named} ({value!r})" if isinstance(value, str | int | float) and len(repr(value)) < 60 else named
