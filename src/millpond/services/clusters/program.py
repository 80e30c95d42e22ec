"""The programs of schedulers and workers: `millpond.clusters`, carried into the working directory of their jobs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import millpond.clusters
from millpond.model.names import CODE_DATASET
from millpond.model.people import Project
from millpond.services.deps import Deps
from millpond.services.flows.lake_files import commit_files, digest_of_files

# The name it has there: the package imports itself by relative names alone.
PACKAGE = "millpond_clusters"


@cache
def program_files() -> Mapping[str, bytes]:
    """The files of the programs by their paths in a working directory."""
    top = Path(millpond.clusters.__file__).parent
    return {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(top.glob("*.py"))}


def program_commit(deps: Deps, project: Project, author: str) -> str:
    """The commit that holds them. The same content is the same commit."""
    content = program_files()
    branch = f"clusters-{digest_of_files(content)[:32]}"
    return commit_files(deps, project, CODE_DATASET, content, branch=branch, author=author).id
