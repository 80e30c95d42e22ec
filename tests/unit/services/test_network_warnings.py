"""What the doctor says of how the server is reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millpond.services.doctor import examine
from millpond.settings import KeyPair, Settings
from millpond.testing.server import making_deps
from millpond.testing.website import make_certificate


@pytest.mark.parametrize(
    ("changed", "ok", "said"),
    [
        ({}, True, "Only this machine"),
        ({"host": "0.0.0.0"}, False, "without TLS"),
        ({"host": "0.0.0.0", "public_url": "https://mill.test"}, True, "A proxy in front encrypts"),
        ({"days": 90}, True, "valid for"),
        ({"days": 5}, False, "valid for"),
        ({"days": -1}, False, "has expired"),
        ({"days": 90, "is_gone": True}, False, "Cannot use the certificate"),
    ],
)
def test_what_is_said_of_encryption(tmp_path: Path, changed: dict[str, Any], ok: bool, said: str) -> None:
    if days := changed.pop("days", None):
        cert, key = make_certificate(tmp_path / "tls", hosts=["mill.test"], days=days)
        if changed.pop("is_gone", False):
            cert.unlink()
        changed = {"host": "0.0.0.0", "tls": [KeyPair(cert, key)]}
    with making_deps(Settings(tmp_path / "data")) as deps:
        checks = examine(replace(deps, settings=replace(deps.settings, **changed)))
    (check,) = [one for one in checks if one.name == "encryption"]
    assert check.ok is ok and said in check.message
    assert ok or check.hint
