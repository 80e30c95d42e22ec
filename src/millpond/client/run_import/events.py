"""What TensorBoard's events say: numbers, images, texts and hyperparameters."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millpond.client.run_import.event_files import fields_of, signed

_FLOAT, _DOUBLE, _HALF = 1, 2, 19
_INTEGERS = {3: "i", 9: "q"}


@dataclass
class EventValue:
    """One value of a summary; which field is set says what it is."""

    tag: str = ""
    number: float | None = None
    image: bytes | None = None
    text: str | None = None
    # Hyperparameters of the whole run.
    hparams: dict[str, Any] = field(default_factory=dict)


@dataclass
class Event:
    # Seconds since 1970.
    time: float = 0.0
    step: int = 0
    values: list[EventValue] = field(default_factory=list)


def read_event(message: bytes) -> Event:
    """ValueError for bytes that are no event."""
    event = Event()
    for number, value in fields_of(message):
        match number, value:
            case 1, bytes():
                event.time = struct.unpack("<d", value)[0]
            case 2, int():
                event.step = signed(value)
            case 5, bytes():
                event.values += [_value(inner) for key, inner in fields_of(value) if key == 1]
    return event


def _value(message: Any) -> EventValue:
    found, plugin, tensor = EventValue(), ("", b""), None
    for number, value in fields_of(message):
        match number, value:
            case 1, bytes():
                found.tag = value.decode("utf-8", "replace")
            case 2, bytes():
                found.number = float(struct.unpack("<f", value)[0])
            case 4, bytes():
                found.image = next((inner for key, inner in fields_of(value) if key == 4), None)  # type: ignore[assignment]
            case 8, bytes():
                tensor = value
            case 9, bytes():
                plugin = _plugin(value)
    _of_plugin(found, *plugin, tensor)
    return found


def _of_plugin(found: EventValue, name: str, content: bytes, tensor: bytes | None) -> None:
    """Values that newer writers put into a tensor: the plugin says what they are."""
    if name == "hparams":
        found.hparams = _hparams(content)
    elif tensor is not None and name == "text":
        found.text = "\n".join(text.decode("utf-8", "replace") for text in _texts(tensor))
    elif tensor is not None and name == "images":
        # Width and height as texts, then the images of the batch.
        found.image = next(iter(_texts(tensor)[2:]), None)
    elif tensor is not None and name in ("scalars", "") and found.number is None:
        found.number = _number(tensor)


def _plugin(metadata: bytes) -> tuple[str, bytes]:
    name, content = "", b""
    for number, value in fields_of(metadata):
        if number == 1 and isinstance(value, bytes):
            for inner, part in fields_of(value):
                if inner == 1 and isinstance(part, bytes):
                    name = part.decode("utf-8", "replace")
                elif inner == 2 and isinstance(part, bytes):
                    content = part
    return name, content


def _texts(tensor: bytes) -> list[bytes]:
    return [value for number, value in fields_of(tensor) if number == 8 and isinstance(value, bytes)]


def _number(tensor: bytes) -> float | None:
    """The value of a tensor that has but one; None for any other."""
    kind, content = 0, b""
    for number, value in fields_of(tensor):
        match number, value:
            case 1, int():
                kind = value
            case ((4 | 5 | 6), bytes()):
                content = value
    code = {_FLOAT: "f", _DOUBLE: "d", _HALF: "e"}.get(kind) or _INTEGERS.get(kind)
    if code is None or len(content) != struct.calcsize(f"<{code}"):
        return None
    return float(struct.unpack(f"<{code}", content)[0])


def _hparams(content: bytes) -> dict[str, Any]:
    """Of the message that begins a session; other messages of the plugin have none."""
    found: dict[str, Any] = {}
    for number, session in fields_of(content):
        if number == 3 and isinstance(session, bytes):
            for key, entry in fields_of(session):
                if key == 1 and isinstance(entry, bytes):
                    name, value = _entry(entry)
                    found[name] = value
    return found


def _entry(entry: bytes) -> tuple[str, Any]:
    name, found = "", None
    for number, value in fields_of(entry):
        if number == 1 and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif number == 2 and isinstance(value, bytes):
            found = next(_plain(value), None)
    return name, found


def _plain(value: bytes) -> Iterator[Any]:
    for number, inner in fields_of(value):
        match number, inner:
            case 2, bytes():
                yield struct.unpack("<d", inner)[0]
            case 3, bytes():
                yield inner.decode("utf-8", "replace")
            case 4, int():
                yield bool(inner)
