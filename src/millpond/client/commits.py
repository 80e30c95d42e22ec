"""What moving data needs to know of datasets, refs and commits, by quick shapes: somebody waits."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api
from millpond.client.paths import commit_path, dataset_path
from millpond.errors import NotFound, RefMoved, Unavailable
from millpond.wire.quick.data import Commit, CommitCreate, Dataset, Ref, RefCreate

# The server checks every page and pack of a commit before it answers.
COMMIT_SECONDS = 600.0


def find_dataset(api: Api, project: str, name: str) -> Dataset:
    return api.get(dataset_path(project, name), Dataset)


def find_datasets(api: Api, project: str) -> Iterator[Dataset]:
    return api.items("/datasets", Dataset, project=project)


def find_refs(api: Api, project: str, name: str) -> Iterator[Ref]:
    return api.items(f"{dataset_path(project, name)}/refs", Ref)


def find_commit(api: Api, project: str, name: str, ref: str) -> Commit:
    return api.get(commit_path(project, name, ref), Commit)


def branch_head(api: Api, project: str, name: str, branch: str) -> Commit | None:
    """The newest commit of a branch, or None when the branch does not exist yet."""
    for ref in find_refs(api, project, name):
        if ref.name == branch:
            return find_commit(api, project, name, ref.commit_id)
    return None


def begin_branch(api: Api, project: str, name: str, branch: str, *, at: str) -> Ref:
    """A new branch at the commit that the ref `at` names."""
    return api.send("POST", f"{dataset_path(project, name)}/refs", Ref, RefCreate(name=branch, at=at), idempotent=True)


def create_commit(api: Api, project: str, name: str, request: CommitCreate) -> Commit:
    """Commit an upload. If the answer is lost on the way, the branch itself tells whether the commit was made.

    Asking again is safe when it was not: the server refuses a commit on top of anything but `expected`.
    """
    path = f"{dataset_path(project, name)}/commits"
    try:
        return api.send("POST", path, Commit, request, idempotent=True, timeout=COMMIT_SECONDS)
    except (Unavailable, RefMoved):
        made = _made_before(api, project, name, request)
        if made is None:
            raise
        return made


def _made_before(api: Api, project: str, name: str, request: CommitCreate) -> Commit | None:
    try:
        head = branch_head(api, project, name, request.branch)
    except NotFound:
        return None
    if head is None or head.id == request.expected:
        return None
    parent = request.expected or request.parent
    parents = [parent] if parent else []
    same = head.tree == request.tree and head.parents == parents and head.message == request.message
    return head if same else None
