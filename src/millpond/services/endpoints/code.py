"""What replicas and routers run: the model server as a commit of the project's code, and its packages."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.decide.model_backend import backend_of
from millpond.model.model import ModelVersionView
from millpond.model.names import CODE_DATASET
from millpond.model.people import Project
from millpond.requirements import Requirements
from millpond.services.deps import Deps
from millpond.services.flows.lake_files import commit_files, digest_of_files
from millpond.services.models import version_files
from millpond.services.serving.program import program_files, requirements

# Routers verify signatures of tokens.
_ROUTER = ("cryptography",)
_TABLES = ("numpy", "pyarrow")


def serving_code(deps: Deps, project: Project, author: str) -> str:
    """The commit that holds the model server. The same content is the same commit."""
    return _committed(deps, project, program_files(), "serve", author)


def packages_of_model(deps: Deps, project: Project, version: ModelVersionView, author: str) -> str:
    """The commit that the environment of a replica is built from. Invalid if nothing here can run the version."""
    backend = backend_of(version.written, version_files.paths(deps, project, version))
    return _environment(deps, project, requirements(backend), author)


def packages_of_router(deps: Deps, project: Project, author: str) -> str:
    return _environment(deps, project, requirements("", *_ROUTER), author)


def packages_of_replay(deps: Deps, project: Project, version: ModelVersionView, author: str) -> str:
    """For a job that runs a version on requests of a log. Invalid if nothing here can run the version."""
    backend = backend_of(version.written, version_files.paths(deps, project, version))
    return _environment(deps, project, requirements(backend, *_TABLES), author)


def packages_of_monitoring(deps: Deps, project: Project, author: str) -> str:
    """For jobs that read request logs and other tables, and run no model."""
    return _environment(deps, project, "\n".join(_TABLES), author)


def _environment(deps: Deps, project: Project, lines: str, author: str) -> str:
    content = {name: text.encode() for name, text in Requirements(tuple(lines.splitlines())).files().items()}
    return _committed(deps, project, content, "environment", author)


def _committed(deps: Deps, project: Project, content: Mapping[str, bytes], what: str, author: str) -> str:
    branch = f"{what}-{digest_of_files(content)[:32]}"
    return commit_files(deps, project, CODE_DATASET, content, branch=branch, author=author).id
