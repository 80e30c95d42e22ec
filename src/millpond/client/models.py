"""Models, their versions and aliases, over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from millpond.client.http import Api, segment
from millpond.client.retrying_sender import until_complete
from millpond.client.runs import find_run
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.errors import BadRequest
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.push import PushOptions, push_directory
from millpond.lake.transfer import Progress
from millpond.model.model import VersionState
from millpond.model.model_check import CheckState
from millpond.model.names import check_model_name
from millpond.wire.data import Commit
from millpond.wire.flows import FlowRun
from millpond.wire.models import (
    AliasPoint,
    BatchPrediction,
    Model,
    ModelChange,
    ModelCheckStart,
    ModelComparison,
    ModelCreate,
    ModelSource,
    ModelVersion,
    ModelVersionChange,
    ModelVersionCreate,
)

_SECONDS = 300.0
_CHECK_SECONDS = 1.0
_SOURCE_HINT = "Use ./FOLDER, RUN:PATH, DATASET@REF:PATH or MODEL's URI models:/MODEL/3."


def list_models(
    api: Api, project: str | None = None, *, search: str | None = None, deleted: bool = False
) -> Iterator[Model]:
    """By project and name; of one project, or of all one may see."""
    path = f"/projects/{segment(project)}/models" if project else "/models"
    return api.items(path, Model, search=search, deleted=deleted or None)


def get_model(api: Api, project: str, name: str) -> Model:
    return api.get(model_path(project, name), Model)


def create_model(api: Api, project: str, request: ModelCreate) -> Model:
    return api.send("POST", f"/projects/{segment(project)}/models", Model, request)


def change_model(api: Api, project: str, name: str, change: ModelChange) -> Model:
    return api.send("PATCH", model_path(project, name), Model, change)


def delete_model(api: Api, project: str, name: str) -> None:
    api.request("DELETE", model_path(project, name))


def undelete_model(api: Api, project: str, name: str) -> Model:
    return api.send("POST", f"{model_path(project, name)}/undelete", Model)


def list_versions(api: Api, project: str, name: str, *, deleted: bool = False) -> Iterator[ModelVersion]:
    """Newest first."""
    return api.items(f"{model_path(project, name)}/versions", ModelVersion, deleted=deleted or None)


def get_version(api: Api, project: str, name: str, version: str) -> ModelVersion:
    """By its number, an alias, or `latest`."""
    return api.get(version_path(project, name, version), ModelVersion)


def check_version(
    api: Api, project: str, name: str, version: str, *, on: str | None = None, environment: bool = True
) -> ModelVersion:
    """Start to load and run a version in a job; `check` of the version tells what was found out."""
    request = ModelCheckStart(on=on, environment=environment)
    return api.send("POST", f"{version_path(project, name, version)}/check", ModelVersion, request)


def wait_for_check(
    api: Api, version: ModelVersion, *, timeout: float | None = None, sleep: Callable[[float], None] = time.sleep
) -> ModelVersion:
    """The version once its check has ended; as it is then, if that takes longer than `timeout` seconds."""
    deadline = time.monotonic() + timeout if timeout is not None else None
    found = version
    while found.check is not None and found.check.state is CheckState.RUNNING:
        if deadline is not None and time.monotonic() > deadline:
            break
        sleep(_CHECK_SECONDS)
        found = get_version(api, version.project, version.model, str(version.version))
    return found


def change_version(api: Api, project: str, name: str, version: str, change: ModelVersionChange) -> ModelVersion:
    return api.send("PATCH", version_path(project, name, version), ModelVersion, change)


def delete_version(api: Api, project: str, name: str, version: str) -> None:
    api.request("DELETE", version_path(project, name, version))


def undelete_version(api: Api, project: str, name: str, version: str) -> ModelVersion:
    return api.send("POST", f"{version_path(project, name, version)}/undelete", ModelVersion)


def set_alias(api: Api, project: str, name: str, alias: str, version: str) -> ModelVersion:
    path = f"{model_path(project, name)}/aliases/{segment(alias)}"
    return api.send("PUT", path, ModelVersion, AliasPoint(version=version))


def remove_alias(api: Api, project: str, name: str, alias: str) -> None:
    api.request("DELETE", f"{model_path(project, name)}/aliases/{segment(alias)}")


def compare_versions(api: Api, project: str, name: str, before: str, after: str) -> ModelComparison:
    return api.get(f"{model_path(project, name)}/compare", ModelComparison, before=before, after=after)


def register_version(
    api: Api, project: str, name: str, source: str | Path, *, description: str = "",
    tags: Mapping[str, str] | None = None, aliases: Sequence[str] = (), metrics: Mapping[str, float] | None = None,
    params: Mapping[str, str] | None = None, signature: Mapping[str, object] | None = None, run: str | None = None,
    progress: Progress | None = None,
) -> ModelVersion:  # fmt: skip
    """The next version of a model, from a folder here, `RUN:path`, `dataset@ref:path`, or one of MLflow's URIs."""
    # Here, because a name with a slash would be another address.
    check_model_name(name)
    rest = {
        "description": description, "tags": dict(tags or {}), "aliases": list(aliases),
        "metrics": dict(metrics) if metrics is not None else None,
        "params": dict(params) if params is not None else None,
        "signature": dict(signature) if signature is not None else None, "run": run,
    }  # fmt: skip
    path = f"{model_path(project, name)}/versions"

    def send(found: ModelSource) -> ModelVersion:
        body = ModelVersionCreate.model_validate({"source": found.model_dump(), **rest})
        return api.send("POST", path, ModelVersion, body, timeout=_SECONDS)

    folder = local_folder(source)
    if folder is None:
        return send(written_source(api, project, str(source)))

    def push() -> ModelVersion:
        with ApiUploader(api, project) as uploader:
            pushed = push_directory(folder, uploader, options=PushOptions(ignore_files=()), progress=progress)
            if not pushed.tree.files:
                raise BadRequest(f"{folder} has no files.", hint="Name the folder that holds the model.")
            return send(ModelSource(upload=uploader.id, tree=pushed.tree.root))

    return until_complete(push)


def download_version(
    api: Api, version: ModelVersion, target: Path, *, path: str = "", progress: Progress | None = None
) -> Path:
    """Write a version's files (or the file or folder `path`) into the folder `target`, which must not exist yet."""
    if version.state is VersionState.ELSEWHERE:
        raise BadRequest(
            f"The files of {version.model}@{version.version} are not in the lake.",
            hint=f"They are at {version.source}.",
        )
    if target.exists() and any(target.iterdir()):
        raise BadRequest(f"{target} is not empty.", hint="Name another folder with --to.")
    commit = api.get(_commit_path(version), Commit)
    wanted = [path.strip("/").encode()] if path.strip("/") else None
    options = FetchOptions(paths=wanted) if wanted else FetchOptions()
    with ApiDownloader(api, version.project, version.dataset, commit.id) as source:
        fetch_tree(source, commit.tree, target, options=options, progress=progress)
    return target


def local_folder(source: str | Path) -> Path | None:
    """The folder on this machine that a source means: a Path, or a text that begins like one, or names one."""
    if isinstance(source, Path):
        return _folder(source)
    if source.startswith(("./", "../", "/", "~")) or source in (".", ".."):
        return _folder(Path(source).expanduser())
    is_plain = not any(character in source for character in "@:")
    return Path(source) if is_plain and Path(source).is_dir() else None


def written_source(api: Api, project: str, source: str) -> ModelSource:
    """What `RUN:path`, `dataset@ref:path`, `runs:/…`, `models:/…` or a URI of another store means."""
    scheme, _, rest = source.partition(":/")
    if scheme == "runs":
        run, _, path = rest.strip("/").partition("/")
        return ModelSource(run=find_run(api, project, run).id, path=path)
    if scheme == "models":
        name, _, version = rest.strip("/").partition("/")
        if not version and name.startswith("m-"):
            return ModelSource(logged_model=name)
        return ModelSource(version=f"{name}@{version}" if version else name)
    if "://" in source:
        return ModelSource(uri=source)
    head, colon, path = source.partition(":")
    if "@" in head:
        return ModelSource(commit=source)
    if not head:
        raise BadRequest(f"{source!r} is not a source of a model.", hint=_SOURCE_HINT)
    return ModelSource(run=find_run(api, project, head).id, path=path if colon else "")


def predict_batch(api: Api, project: str, name: str, version: str, asked: BatchPrediction) -> FlowRun:
    """Start predicting a dataset with a version."""
    return api.send("POST", f"{version_path(project, name, version)}/batch", FlowRun, asked)


def model_path(project: str, name: str) -> str:
    return f"/projects/{segment(project)}/models/{segment(name)}"


def version_path(project: str, name: str, version: str) -> str:
    return f"{model_path(project, name)}/versions/{segment(version)}"


def _commit_path(version: ModelVersion) -> str:
    project, dataset = segment(version.project), segment(version.dataset)
    return f"/projects/{project}/datasets/{dataset}/commits/{version.commit}"


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise BadRequest(f"{path} is not a folder.", hint=_SOURCE_HINT)
    return path
