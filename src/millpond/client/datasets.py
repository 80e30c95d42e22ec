"""Datasets, refs, commits, entries and diffs, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.client.paths import commit_path, dataset_path
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.data import (
    Change,
    Commit,
    Dataset,
    DatasetChange,
    DatasetCreate,
    Diff,
    Ref,
    TreeEntry,
    Verification,
)


def list_datasets(
    api: Api, project: str | None = None, search: str | None = None, kind: str | None = None
) -> Iterator[Dataset]:
    """Those that people made; of the `kind` code or output, those that hold what jobs ran and made."""
    return api.items("/datasets", Dataset, project=project, search=search, kind=kind)


def get_dataset(api: Api, project: str, name: str) -> Dataset:
    return api.get(dataset_path(project, name), Dataset)


def create_dataset(api: Api, project: str, name: str, description: str = "") -> Dataset:
    path = f"/projects/{segment(project)}/datasets"
    return api.send("POST", path, Dataset, DatasetCreate(name=name, description=description))


def change_dataset(api: Api, project: str, name: str, change: DatasetChange) -> Dataset:
    """Rename it, describe it anew; what is null stays as it is."""
    return api.send("PATCH", dataset_path(project, name), Dataset, change)


def delete_dataset(api: Api, project: str, name: str) -> None:
    api.request("DELETE", dataset_path(project, name))


def list_refs(api: Api, project: str, name: str) -> Iterator[Ref]:
    return api.items(f"{dataset_path(project, name)}/refs", Ref)


def list_commits(
    api: Api, project: str, name: str, ref: str | None = None, at_most: int | None = None
) -> Iterator[Commit]:
    return api.items(f"{dataset_path(project, name)}/commits", Commit, ref=ref, at_most=at_most)


def get_commit(api: Api, project: str, name: str, ref: str = DEFAULT_BRANCH) -> Commit:
    return api.get(commit_path(project, name, ref), Commit)


def get_verification(api: Api, project: str, name: str, ref: str = DEFAULT_BRANCH) -> Verification:
    """How far the server has read the content of a commit back and checked it."""
    return api.get(f"{commit_path(project, name, ref)}/verification", Verification)


def list_entries(api: Api, project: str, name: str, ref: str, path: str) -> Iterator[TreeEntry]:
    return api.items(f"{commit_path(project, name, ref)}/entries", TreeEntry, path=path)


def diff(api: Api, project: str, name: str, before: str, after: str) -> Diff:
    """What changed between two refs; all pages of the list are read."""
    path = f"{dataset_path(project, name)}/diff"
    first = api.get(path, Diff, before=before, after=after, limit=1000)
    changes: list[Change] = list(first.items)
    cursor = first.next
    while cursor is not None:
        page = api.get(path, Diff, before=before, after=after, limit=1000, cursor=cursor)
        changes.extend(page.items)
        cursor = page.next
    return first.model_copy(update={"items": changes, "next": None})
