"""A file that says what would be different, in YAML or JSON: `mill plan --what-if FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from millpond.errors import BadRequest
from millpond.model.quantity import parse_bytes, parse_seconds
from millpond.wire.base import written_path
from millpond.wire.scheduling import WhatIf


def read_what_if(file: Path) -> WhatIf:
    """BadRequest if the file cannot be read, or says something that is not known.

    Durations are written like 24h (`replay`, `duration`, `min_runtime`), sizes like 256GB (`memory`).
    """
    try:
        document = yaml.safe_load(file.read_text())
    except OSError as error:
        raise BadRequest(f"Cannot read {file}: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} is neither YAML nor JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest(f"{file} holds no settings.", hint="Write, for example: projects: {team-a: {quota: 8}}")
    try:
        return WhatIf.model_validate(_translated(document))
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"{file}: {written_path(first['loc'])}: {first['msg']}.") from error


def _translated(document: dict[str, Any]) -> dict[str, Any]:
    """Quantities as people write them, as numbers."""
    found = dict(document)
    for written, name in (("replay", "replay_seconds"), ("duration", "duration_seconds")):
        if written in found:
            value = found.pop(written)
            # The queue of now is replayed without being asked for.
            found[name] = None if value in (None, "queue") else _seconds(value)
    if isinstance(found.get("projects"), dict):
        found["projects"] = {
            name: {**one, "min_runtime": _seconds(one["min_runtime"])}
            if isinstance(one, dict) and "min_runtime" in one
            else one
            for name, one in found["projects"].items()
        }
    if isinstance(found.get("nodes"), list):
        found["nodes"] = [_node(one) if isinstance(one, dict) else one for one in found["nodes"]]
    return found


def _node(written: dict[str, Any]) -> dict[str, Any]:
    node = dict(written)
    if "memory" in node:
        node["memory_bytes"] = parse_bytes(str(node.pop("memory")))
    return node


def _seconds(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else int(parse_seconds(str(value)))
