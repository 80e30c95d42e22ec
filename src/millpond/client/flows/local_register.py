"""What a local run does instead of registering a model at a server: a numbered copy in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.flows.local_step import LocalWork
from millpond.errors import BadRequest

MODELS = "models"


def register_locally(models: Path, work: LocalWork) -> Mapping[str, Any]:
    """Copy the input `model` to `models/NAME/VERSION`, one more than the last; `ALIAS` beside it names the version."""
    name, alias = str(work.params["model"]), work.params.get("alias")
    if any(not part or part.startswith(".") or "/" in part for part in (name, *([alias] if alias else []))):
        raise BadRequest(f"{name!r} cannot name a model.", hint="Use letters, digits, '-' and '_'.")
    folder = models / name
    folder.mkdir(parents=True, exist_ok=True)
    version = 1 + max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=0)
    shutil.copytree(work.inputs["model"].place, folder / str(version))
    if alias:
        (folder / alias).unlink(missing_ok=True)
        (folder / alias).symlink_to(str(version))
    return {"version": version}
