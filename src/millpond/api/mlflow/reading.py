"""What comes with a request of MLflow's clients: its token, and its fields from the body or the query."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from fastapi import Request

from millpond.api.characters import check_body
from millpond.api.mlflow.endpoint import Document
from millpond.errors import BadRequest, Invalid, NotSignedIn


def secret_of(authorization: str) -> str | None:
    """A token: as bearer (MLFLOW_TRACKING_TOKEN), or as the password of basic authentication. No cookie counts."""
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            _, _, secret = base64.b64decode(secret.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise NotSignedIn("The header Authorization cannot be read.") from error
    return secret.strip() or None if scheme.lower() in ("bearer", "basic") else None


def read_query(request: Request) -> Document:
    found: dict[str, Any] = {}
    for key, value in request.query_params.multi_items():
        # Written as an array by some clients: run_ids[]=a
        name = key.removesuffix("[]")
        found[name] = [*found[name], value] if name in found else [value]
    if any("\0" in key or any("\0" in value for value in values) for key, values in found.items()):
        raise BadRequest("A NUL character cannot be stored.")
    return found


def read_body(raw: bytes) -> Document:
    try:
        found = json.loads(raw) if raw else {}
        raw.decode()
        if b"\\u" in raw or b"\0" in raw:
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadRequest("The body is not a JSON document.") from error
    check_body(raw)
    if not isinstance(found, dict):
        raise Invalid("The body is not a JSON object.")
    return found
