"""Where datasets, commits and runs are in the API."""

from __future__ import annotations

from millpond.client.http import segment


def dataset_path(project: str, name: str) -> str:
    return f"/projects/{segment(project)}/datasets/{segment(name)}"


def commit_path(project: str, name: str, ref: str) -> str:
    return f"{dataset_path(project, name)}/commits/{segment(ref)}"


def run_path(project: str, run: str) -> str:
    return f"/projects/{segment(project)}/runs/{segment(run)}"
