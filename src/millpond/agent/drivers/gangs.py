"""Laying out a distributed job: a directory for each rank, with what its keeper needs.

docs/design/012-distributed-jobs.md tells what is in them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from millpond.agent.drivers import records
from millpond.agent.isolation.isolation import CONFINEMENT
from millpond.agent.spec import LOG, RANKS, RENEWAL, SPEC, Spec, rank_directories, write_private
from millpond.model.job import RankPlace


def lay_out(directory: Path, spec: Spec, *, address: str | None = None, owns_gpus: bool = True) -> Sequence[Path]:
    """The directories of its ranks, in order. What an earlier call has made stays as it is.

    `address`: where all of them are reached, if that is known; otherwise each finds out where it runs. `owns_gpus`:
    each is told which GPUs are its own, and not only by the engine.
    """
    for rank, place in enumerate(spec.ranks):
        one = directory / RANKS / str(rank)
        if (one / SPEC).exists():
            continue
        one.mkdir(parents=True, exist_ok=True)
        if (directory / CONFINEMENT).exists():
            write_private(one / CONFINEMENT, (directory / CONFINEMENT).read_text())
        if rank == 0 and (directory / LOG).exists():
            write_private(one / LOG, (directory / LOG).read_text())
        write_private(one / RENEWAL, (directory / RENEWAL).read_text())
        of_rank(spec, rank, place, address=address, owns_gpus=owns_gpus).write(one)
    found = rank_directories(directory)
    if (directory / records.STOP).exists():
        records.ask_to_stop(directory)
    return found


def of_rank(spec: Spec, rank: int, place: RankPlace, *, address: str | None, owns_gpus: bool) -> Spec:
    """What the keeper of one rank is told. Its command takes as many threads as it has CPUs, unless told otherwise."""
    env = {"OMP_NUM_THREADS": str(max(1, spec.asked.cpu)), **spec.env}
    if owns_gpus:
        env["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in place.gpu_indices)
    gang = {"rank": rank, "size": len(spec.ranks), "node": place.node, "address": address}
    return replace(spec, env=env, gang=gang, node=place.node, gpu_indices=place.gpu_indices)


def whole(spec: Spec) -> Spec:
    """The spec with what all processes may use together."""
    size = max(1, len(spec.ranks), spec.asked.processes)
    asked = replace(spec.asked, cpu=spec.asked.cpu * size, memory_bytes=spec.asked.memory_bytes * size)
    return replace(spec, asked=asked)


def remove(directory: Path) -> None:
    """Take the ranks away again, none of which has begun."""
    shutil.rmtree(directory / RANKS, ignore_errors=True)
