"""JSON can say half a character (a lone surrogate) and NUL: no database holds them, some answers cannot quote them."""

from __future__ import annotations

import json
import re

from fastapi import Request

from millpond.errors import Invalid
from millpond.model.json_text import has_nul

# As an escape, or as the bytes that an encoder without scruples writes. Whole characters may be written in two halves.
_SUSPECT = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)|\xed[\xa0-\xbf]")


async def whole_characters(request: Request) -> None:
    """Invalid for a text that cannot be stored, in the address or somewhere in the body."""
    if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
        raise Invalid("The address of the request contains a NUL character.")
    if getattr(request.scope.get("route"), "body_field", None) is None:
        return  # bytes, or nothing
    check_body(await request.body())  # which was read already


def check_body(body: bytes) -> None:
    """Invalid for JSON with half a character or NUL in it; what is no JSON at all is for others to refuse."""
    if _SUSPECT.search(body) is None:
        return
    try:
        written = json.dumps(json.loads(body), ensure_ascii=False)
        written.encode()
    except UnicodeEncodeError as error:
        raise Invalid("A text in the request contains an unpaired surrogate, which cannot be stored.") from error
    except (ValueError, RecursionError):
        return
    if has_nul(written):
        raise Invalid("A text in the request contains a NUL character, which cannot be stored.")
