"""JSON can say half a character (a lone surrogate): nothing can store it, and no answer that quotes it can be sent."""

from __future__ import annotations

import json
import re

from fastapi import Request

from millpond.errors import Invalid

# As an escape, or as the bytes that an encoder without scruples writes. Whole characters may be written in two halves.
_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")


async def whole_characters(request: Request) -> None:
    """Invalid for a body with half a character somewhere in it; what is no JSON at all is for others to refuse."""
    if getattr(request.scope.get("route"), "body_field", None) is None:
        return  # bytes, or nothing
    body = await request.body()  # which was read already
    if _HALF.search(body) is None:
        return
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Invalid("A text in the request contains an unpaired surrogate, which cannot be stored.") from error
    except (ValueError, RecursionError):
        return
