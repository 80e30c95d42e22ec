"""What the files of a version say of it: MLflow's file MLmodel has signature and flavors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from logging import getLogger
from typing import Any

import yaml

from millpond.errors import MillError
from millpond.model.dataset import Commit, Dataset
from millpond.model.model import ModelFacts
from millpond.services.datasets import files
from millpond.services.deps import Deps

logger = getLogger(__name__)

_DESCRIPTION = "MLmodel"
_MOST_BYTES = 1 << 20


def read_described(deps: Deps, dataset: Dataset, tree: str, facts: ModelFacts) -> ModelFacts:
    """The facts with signature and flavors of the file MLmodel, where there is one that can be read."""
    described = _mlmodel(deps, dataset, tree)
    if not described:
        return facts
    signature, flavors = described.get("signature"), described.get("flavors")
    return replace(
        facts,
        signature=facts.signature or (json.dumps(signature, default=str) if isinstance(signature, dict) else ""),
        flavors=tuple(str(name) for name in flavors) if isinstance(flavors, dict) else facts.flavors,
    )


def _mlmodel(deps: Deps, dataset: Dataset, tree: str) -> Mapping[str, Any]:
    """A file that is damaged, too large or not YAML says nothing: the version is what its files are."""
    nothing = Commit("", dataset.id, tree, (), "", datetime.min.replace(tzinfo=UTC), "", 0, 0)
    try:
        file = files.open_file(deps, dataset, nothing, _DESCRIPTION)
        if file.size > _MOST_BYTES:
            return {}
        found = yaml.safe_load(b"".join(file.read(deps, 0, file.size)))
    except (MillError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        logger.debug("mlmodel_not_read tree=%s why=%s", tree, error)
        return {}
    return found if isinstance(found, dict) else {}
