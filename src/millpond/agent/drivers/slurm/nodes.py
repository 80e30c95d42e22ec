"""The nodes of a cluster, from the lines of `sinfo -N`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millpond.wire.observed import NodeFacts

# Nodes on which nothing can begin now. `idle~` sleeps and is woken for a job; `idle*` does not answer.
_UNUSABLE = ("down", "drain", "fail", "maint", "unk", "inval", "no_resp", "power", "reboot", "block", "future")
_MEBIBYTE = 1 << 20
# The label that says which partitions a node is in.
PARTITION = "slurm.partition"


def parse_nodes(lines: Iterable[str], partition: str | None = None) -> list[NodeFacts]:
    """Each node once, with the partitions it is in; only those of `partition`, if one is named."""
    partitions: dict[str, list[str]] = {}
    facts: dict[str, list[str]] = {}
    for line in lines:
        fields = line.strip().split("|")
        if len(fields) != 7:
            continue
        name, where, rest = fields[0], fields[1].rstrip("*"), fields[2:]
        if partition is None or where in partition.split(","):
            partitions.setdefault(name, []).append(where)
            facts[name] = rest
    return [_node(name, facts[name], partitions[name]) for name in sorted(facts) if _is_usable(facts[name][-1])]


def default_partition(lines: Iterable[str]) -> str | None:
    """Where jobs go that name none; None where Slurm has no such partition, or tells no node of it."""
    found = (line.split("|")[1] for line in lines if line.count("|") == 6)
    return next((where.rstrip("*") for where in found if where.endswith("*")), None)


def parse_gpus(gres: str) -> tuple[int, str]:
    """How many, and of which type: `gpu:a100:4(S:0-1)`, `gpu:2`, `(null)`."""
    count, models = 0, []
    for written in re.sub(r"\([^)]*\)", "", gres).split(","):
        name, *rest = written.split(":")
        if name == "gpu" and rest:
            count += int(rest[-1]) if rest[-1].isdigit() else 1
            models += [part for part in rest if not part.isdigit()]
    return count, ", ".join(dict.fromkeys(models))


def _node(name: str, fields: list[str], partitions: list[str]) -> NodeFacts:
    cpus, memory, gres, features, _ = fields
    gpus, model = parse_gpus(gres)
    labels = {PARTITION: ",".join(sorted(partitions))}
    if features not in ("(null)", ""):
        labels["slurm.features"] = features
    return NodeFacts(
        name=name,
        cpus=int(cpus),
        memory_bytes=int(memory) * _MEBIBYTE,
        gpus=gpus,
        gpu_model=model,
        labels=labels,
    )


def _is_usable(state: str) -> bool:
    return "*" not in state and not state.lower().startswith(_UNUSABLE)
