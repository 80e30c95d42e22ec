"""Deleted datasets and retention rules, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api
from millpond.client.paths import dataset_path
from millpond.wire.data import Dataset, DatasetChange, Retention


def list_deleted(api: Api, project: str | None = None) -> Iterator[Dataset]:
    """What lies in the bin, newest first."""
    return api.items("/datasets", Dataset, project=project, deleted=True)


def undelete_dataset(api: Api, project: str, name: str) -> Dataset:
    return api.send("POST", f"{dataset_path(project, name)}/undelete", Dataset)


def purge_dataset(api: Api, project: str, name: str) -> None:
    """Out of the bin for good."""
    api.request("POST", f"{dataset_path(project, name)}/purge")


def set_retention(api: Api, project: str, name: str, rule: Retention | None) -> Dataset:
    return api.send("PATCH", dataset_path(project, name), Dataset, DatasetChange(retention=rule or "off"))
