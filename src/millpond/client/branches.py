"""Branches and tags of a dataset, merging and undoing, over the API."""

from __future__ import annotations

from millpond.client.commits import COMMIT_SECONDS
from millpond.client.datasets import list_refs
from millpond.client.http import Api, segment
from millpond.client.paths import dataset_path
from millpond.lake.branch_retry import on_newest
from millpond.model.dataset import RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.data import Commit, Merge, Ref, RefCreate, Revert


def create_ref(
    api: Api, project: str, dataset: str, name: str, *, type: RefType = RefType.BRANCH, at: str = DEFAULT_BRANCH
) -> Ref:
    """A new branch or tag at the commit that the ref `at` names. NameTaken if the name stands for something else."""
    request = RefCreate(name=name, type=type, at=at)
    return api.send("POST", f"{dataset_path(project, dataset)}/refs", Ref, request, idempotent=True)


def delete_ref(api: Api, project: str, dataset: str, name: str, *, expected: str | None = None) -> None:
    """Remove a branch or tag; its commits stay. RefMoved unless it is at `expected`, where that is given."""
    path = f"{dataset_path(project, dataset)}/refs/{segment(name)}"
    api.request("DELETE", path, params={"expected": expected}, idempotent=False)


def find_ref(api: Api, project: str, dataset: str, name: str) -> Ref | None:
    return next((ref for ref in list_refs(api, project, dataset) if ref.name == name), None)


def merge(
    api: Api, project: str, dataset: str, source: str, into: str = DEFAULT_BRANCH, *, message: str = ""
) -> Commit:
    """Bring what `source` changed to the branch `into`; the branch's newest commit afterwards.

    MergeConflict, with the paths in its details, if both sides changed them; nothing has changed then.
    """
    request = Merge(source=source, into=into, message=message)
    path = f"{dataset_path(project, dataset)}/merge"
    # What is merged already is not merged again.
    return api.send("POST", path, Commit, request, idempotent=True, timeout=COMMIT_SECONDS)


def revert(
    api: Api, project: str, dataset: str, commit: str, branch: str = DEFAULT_BRANCH, *, message: str = ""
) -> Commit:
    """Undo what one commit changed, as a new commit of `branch`. Errors as of `merge`."""
    path = f"{dataset_path(project, dataset)}/revert"

    def attempt() -> Commit:
        head = find_ref(api, project, dataset, branch)
        # With the commit it goes on top of, it may be asked again: the server knows what it has done.
        request = Revert(commit=commit, branch=branch, expected=head.commit_id if head else None, message=message)
        return api.send("POST", path, Commit, request, idempotent=head is not None, timeout=COMMIT_SECONDS)

    return on_newest(attempt)
