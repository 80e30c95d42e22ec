"""A distributed job on Kubernetes: a Job with one pod for each rank, which wait for each other in their keepers.

Kubernetes schedules pods one by one. Where not all of them get a place in time, the placement is *withdrawn*: none
begins, none keeps its place, and after a pause all are made again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.agent.drivers import gangs, records
from millpond.agent.drivers.kubernetes import explain
from millpond.agent.drivers.kubernetes.manifest import RANK, job_name
from millpond.agent.spec import Spec, rank_directories, write_private

Pods = Sequence[Mapping[str, Any]]

_WITHDRAWN = "withdrawn"


def job_names(spec: Spec) -> list[str]:
    ranks = range(len(spec.ranks))
    return [job_name(spec.placement, rank) for rank in ranks] if spec.ranks else [job_name(spec.placement)]


def service(spec: Spec) -> dict[str, Any]:
    """Without an address of its own: it gives every pod a name that the others can look up."""
    name = job_name(spec.placement)
    labels = {"app.kubernetes.io/managed-by": "millpond", "millpond.dev/placement": spec.placement}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"clusterIP": "None", "selector": labels, "publishNotReadyAddresses": True},
    }


def missing(directory: Path) -> list[int]:
    """Ranks that no keeper has claimed yet."""
    return [rank for rank, one in enumerate(rank_directories(directory)) if records.owner(one) is None]


def of_ranks(pods: Pods, ranks: Sequence[int]) -> Pods:
    return [pod for pod in pods if rank_of(pod) in ranks]


def rank_of(pod: Mapping[str, Any]) -> int:
    return int((pod["metadata"].get("labels") or {}).get(RANK, "-1"))


def why_gathering(directory: Path, why: str) -> str:
    """What the ranks that have come wait for."""
    size, waiting = len(rank_directories(directory)), missing(directory)
    come = f"{size - len(waiting)} of {size} processes have a place and wait for the others"
    return f"{come}. {why}" if len(waiting) < size else why


def lost_ranks(directory: Path, pods: Pods) -> list[int]:
    """Ranks whose keeper claimed them and is gone with its pod, without a word."""
    found = []
    for rank, one in enumerate(rank_directories(directory)):
        mine = of_ranks(pods, [rank])
        if mine and all(explain.is_over(pod) for pod in mine) and records.owner(one) and not records.exited(one):
            found.append(rank)
    return found


# Withdrawing


def is_withdrawn(directory: Path) -> bool:
    return bool((records.owner(directory) or {}).get(_WITHDRAWN))


def withdraw(directory: Path) -> bool:
    """Keep all ranks from beginning; False when they have begun meanwhile."""
    told = directory / f"{_WITHDRAWN}.new"
    write_private(told, json.dumps({_WITHDRAWN: True}))
    try:
        os.link(told, directory / records.CLAIM)
    except FileExistsError:
        return False
    finally:
        told.unlink()
    return True


def start_over(directory: Path) -> None:
    """Nothing is left of the pods of a withdrawn placement: as if it had never been tried."""
    gangs.remove(directory)
    if is_withdrawn(directory):
        (directory / records.CLAIM).unlink()
