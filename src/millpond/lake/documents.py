"""Canonical JSON, the form of every document in the lake, and times as they stand in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat

FORMAT = 1


def encode_document(document: dict[str, Any]) -> bytes:
    """UTF-8, keys sorted, no white space, no floats, non-ASCII characters unescaped."""
    _refuse_floats(document)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadFormat("A document holds text that is not valid Unicode.") from error


def decode_document(data: Buffer, noun: str) -> dict[str, Any]:
    """BadFormat unless `data` is an object in canonical JSON of this format version."""
    try:
        document: Any = json.loads(bytes(data).decode())
        is_canonical = isinstance(document, dict) and encode_document(document) == bytes(data)
    except (ValueError, RecursionError) as error:
        raise BadFormat(f"This {noun} is not JSON.") from error
    if not isinstance(document, dict) or not is_canonical:
        raise BadFormat(f"This {noun} is not canonical JSON.")
    if document.get("format") != FORMAT:
        raise BadFormat(
            f"This {noun} has format {document.get('format')!r}; this version knows {FORMAT}.",
            hint="Use a newer Millpond.",
        )
    return document


def encode_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def decode_time(text: object) -> datetime:
    try:
        time = datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise BadFormat(f"{text!r} is not a time of the lake.") from error
    if encode_time(time) != text:
        raise BadFormat(f"{text!r} is not a time of the lake.")
    return time


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise BadFormat("A document of the lake holds a float.")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise BadFormat("A document of the lake has a key that is not text.")
        for part in value.values():
            _refuse_floats(part)
    elif isinstance(value, list | tuple):
        for part in value:
            _refuse_floats(part)
