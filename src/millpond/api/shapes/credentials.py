"""Credentials as they come in: the only place where they are plain text."""

from __future__ import annotations

from millpond.wire.imports import Credentials


def plain_credentials(given: Credentials | None) -> dict[str, str]:
    if given is None:
        return {}
    found = {name: getattr(given, name) for name in Credentials.model_fields}
    return {
        name: value if isinstance(value, str) else value.get_secret_value() for name, value in found.items() if value
    }
