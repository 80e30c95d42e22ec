"""Two versions of a model side by side: metrics, parameters, tags, signature, files."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.decide.models import FactsDifference, compare_facts
from millpond.model.model import ModelVersionView
from millpond.model.people import Project
from millpond.services.datasets import diffs
from millpond.services.datasets.diffs import Diff
from millpond.services.deps import Deps
from millpond.services.models import versions
from millpond.services.models.models import find

# Changed files that are named; the counts are of all.
_FILES = 200


@dataclass(frozen=True, slots=True)
class Comparison:
    before: ModelVersionView
    after: ModelVersionView
    facts: FactsDifference
    files: Diff


def compare(deps: Deps, project: Project, name: str, before: str, after: str) -> Comparison:
    """Versions by number, alias or `latest`."""
    old, new = versions.get(deps, project, name, before), versions.get(deps, project, name, after)
    with deps.db.read() as tx:
        dataset = find(tx, project, name).dataset
    files = diffs.diff(deps, dataset, old.commit, new.commit, limit=_FILES, cursor=None)
    return Comparison(old, new, compare_facts(old, new), files)
