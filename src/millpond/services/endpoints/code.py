"""What replicas and routers run: the model server as a commit of the project's code, and its packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit
from millpond.model.names import CODE_DATASET
from millpond.model.people import Project
from millpond.requirements import Requirements
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps
from millpond.services.flows.lake_files import commit_files, digest_of_files

PACKAGE = "millpond_serve"
_SERVER = (
    "numpy>=1.26", "httptools>=0.6", "uvloop>=0.21", "orjson>=3.10", "grpcio>=1.67", "protobuf>=5",
    "tritonclient>=2.60",
)  # fmt: skip
# By how the file of a model ends.
_BACKENDS: Mapping[str, tuple[str, ...]] = {
    ".onnx": ("onnxruntime>=1.20",),
    ".pt": ("torch>=2.2",),
    ".pt2": ("torch>=2.2",),
    ".joblib": ("scikit-learn>=1.4", "joblib>=1.3"),
    "MLmodel": ("mlflow-skinny>=2.10", "scikit-learn>=1.4", "pandas>=2.0", "cloudpickle>=3.0"),
}
_ROUTER = ("cryptography>=42",)
_MOST_LOOKED_AT = 10_000


def serving_code(deps: Deps, project: Project, author: str) -> str:
    """The commit that holds the model server. The same content is the same commit."""
    content = serving_files()
    branch = f"serve-{digest_of_files(content)[:32]}"
    return commit_files(deps, project, CODE_DATASET, content, branch=branch, author=author, message="Model server").id


@cache
def serving_files() -> Mapping[str, bytes]:
    return dict(_below(files("millpond.serve"), PACKAGE))


def packages_of_model(deps: Deps, project: Project, version: Commit, author: str) -> str:
    """The commit that the environment of a replica is built from: what the backends of its files need."""
    reader = TreeReader(ProjectPages(deps.store, deps.pages, project.id), version.tree)
    found: dict[str, None] = dict.fromkeys(_SERVER)
    for count, entry in enumerate(reader.entries(b"")):
        if count >= _MOST_LOOKED_AT:
            break
        name = entry.path.decode(errors="replace").rpartition("/")[2]
        for ending, packages in _BACKENDS.items():
            if name.endswith(ending):
                found |= dict.fromkeys(packages)
    return _environment(deps, project, tuple(found), author)


def packages_of_router(deps: Deps, project: Project, author: str) -> str:
    return _environment(deps, project, (*_SERVER, *_ROUTER), author)


def _environment(deps: Deps, project: Project, lines: tuple[str, ...], author: str) -> str:
    content = {name: text.encode() for name, text in Requirements(lines).files().items()}
    branch = f"environment-{digest_of_files(content)[:32]}"
    return commit_files(deps, project, CODE_DATASET, content, branch=branch, author=author).id


def _below(folder: Traversable, name: str) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    for one in folder.iterdir():
        if one.is_dir() and one.name != "__pycache__":
            found |= _below(one, f"{name}/{one.name}")
        elif one.name.endswith(".py"):
            found[f"{name}/{one.name}"] = one.read_bytes()
    return found
