"""Configurations and tokens of routers, made from few words."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY = Ed25519PrivateKey.generate()


def a_document(*endpoints: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "schema": "millpond.router/1",
        "project": "team-a",
        "site": "berlin",
        "revision": 1,
        "keys": [{"id": "k1", "ed25519": base64.b64encode(KEY.public_key().public_bytes_raw()).decode()}],
        "revoked": [],
        "endpoints": list(endpoints),
        **more,
    }


def an_endpoint(name: str = "xray", weights: dict[int, int] | None = None, **more: Any) -> dict[str, Any]:
    weights = weights or {3: 100}
    return {
        "name": name,
        "id": f"id-{name}",
        "public": True,
        "versions": [
            {"model": "chest-xray", "version": version, "weight": weight} for version, weight in weights.items()
        ],
        "replicas": [],
        "hold": {"seconds": 30, "requests": 100},
        **more,
    }


def a_replica(http: str, version: int = 3, **more: Any) -> dict[str, Any]:
    return {"id": http, "model": "chest-xray", "version": version, "http": http, "state": "ready", **more}


def a_token(endpoint: str = "xray", *, key: Ed25519PrivateKey = KEY, seconds: float = 60, **more: Any) -> str:
    claims = {
        "id": "t1",
        "endpoint": endpoint,
        "project": "team-a",
        "exp": time.time() + seconds,
        "quota": None,
        "key": "k1",
        **more,
    }
    payload = "mep_" + _base64(json.dumps(claims).encode())
    return f"{payload}.{_base64(key.sign(payload.encode()))}"


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
