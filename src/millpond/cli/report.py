"""How a failed command tells what happened: `error: …`, `  hint: …`, or one JSON document, always on stderr."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from typing import Any, TextIO

from millpond.errors import MillError


def report(error: MillError, *, as_json: bool, color: bool = False, stream: TextIO | None = None) -> None:
    out = stream or sys.stderr
    if as_json:
        out.write(json_text({"error": error_document(error)}) + "\n")
        return
    out.write(f"{_red('error:', color)} {printable(error.message)}\n")
    if error.hint:
        out.write(f"  hint: {printable(error.hint)}\n")
    elif error.code != MillError.code:
        out.write(f"  more: mill docs {error.code}\n")


def error_document(error: MillError) -> dict[str, Any]:
    details = dict(error.details)
    request_id = details.pop("request_id", None)
    document = {"code": error.code, "message": error.message, "hint": error.hint, "request_id": request_id}
    return {**document, "details": details} if details else document


def use_color(stream: TextIO, *, no_color: bool = False) -> bool:
    """Colours only on a terminal that can show them and whose user did not say no (https://no-color.org)."""
    if no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def printable(text: str) -> str:
    """`text` without characters that could move the cursor or fool the eye: names and paths come from others."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or not unicodedata.category(c).startswith("C") else _escape(c) for c in text)


def json_text(document: Any, indent: int | None = None) -> str:
    """JSON that says the same and is safe to look at: what JSON need not escape may still move a terminal's cursor."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(json.dumps(c)[1:-1] if c != "\n" and unicodedata.category(c).startswith("C") else c for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def _red(text: str, color: bool) -> str:
    return f"\x1b[1;31m{text}\x1b[0m" if color else text
