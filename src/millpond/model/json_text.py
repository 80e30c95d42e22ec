"""Characters that Python and JSON can say and nothing can store: NUL, and half a character (a lone surrogate)."""

from __future__ import annotations

import json
import re

# As the escape that JSON has for it, and not behind a backslash that is meant as one.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def has_nul(document: str) -> bool:
    """True if a text in this JSON document contains a NUL character."""
    return _NUL.search(document) is not None


def without_nul(document: str) -> str:
    """The JSON document with a replacement character for each NUL."""
    return _NUL.sub("\\1\ufffd", document)


def storable(text: str) -> str:
    """The text with a question mark for each half of a character, and a replacement character for each NUL."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def escaped(text: str) -> str:
    """The text as it stands in a JSON document of ASCII alone."""
    return json.dumps(text)[1:-1]
