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
        fields = line.strip().split("|", 8)
        if len(fields) != 9:
            continue
        name, where, rest = fields[0], fields[1].rstrip("*"), fields[2:]
        if partition is None or where in partition.split(","):
            partitions.setdefault(name, []).append(where)
            facts[name] = rest
    return [_node(name, facts[name], partitions[name]) for name in sorted(facts)]


def default_partition(lines: Iterable[str]) -> str | None:
    """Where jobs go that name none; None where Slurm has no such partition, or tells no node of it."""
    found = (line.split("|")[1] for line in lines if line.count("|") >= 8)
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
    cpus, memory, gres, features, state, user, reason = fields
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
        closed=_why_closed(state, user, reason),
    )


def _why_closed(state: str, user: str, reason: str) -> str | None:
    """Why nothing can begin there now, and who said so where Slurm knows; None where something can."""
    if "*" not in state and not state.lower().startswith(_UNUSABLE):
        return None
    by = f" by {user}" if user not in ("Unknown", "(null)", "") else ""
    why = f" ({reason})" if reason not in ("none", "(null)", "") else ""
    what = "does not respond to Slurm" if "*" in state else f"is {state.rstrip('*~#!%$@^-')} in Slurm"
    return f"it {what}{by}{why}"
