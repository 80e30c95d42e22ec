"""The nodes of a cluster as Millpond sees them: those on which a job of this agent may run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.wire.observed import NodeFacts

_QUANTITY = re.compile(r"^([0-9.]+(?:[eE][0-9+-]+)?)(m|[kMGTPE]|[KMGTPE]i)?$")
_SUFFIXES = {
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
_MODEL = ("nvidia.com/gpu.product", "amd.com/gpu.product-name", "cloud.google.com/gke-accelerator")
_GPU_MEMORY_MIB = "nvidia.com/gpu.memory"


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """`gpu_resource` is what this node calls its GPUs; None without any."""

    facts: NodeFacts
    gpu_resource: str | None


def quantity(text: str) -> Decimal:
    """`1500m`, `8Gi`, `2`: what Kubernetes writes for amounts."""
    match = _QUANTITY.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    return Decimal(match[1]) * _SUFFIXES.get(match[2] or "", Decimal(1))


def usable_nodes(found: Sequence[Mapping[str, Any]], options: KubernetesOptions) -> list[ClusterNode]:
    """Those that fit the selector and tolerations that jobs get, also while they take no new pods."""
    nodes = [_node(one, options.gpu_resource) for one in found if _is_ours(one, options)]
    return sorted(nodes, key=lambda node: node.facts.name)


def _is_ours(node: Mapping[str, Any], options: KubernetesOptions) -> bool:
    spec = node.get("spec") or {}
    labels = node["metadata"].get("labels") or {}
    taints = [taint for taint in spec.get("taints") or () if not _passes(taint)]
    return options.selector.items() <= labels.items() and all(
        any(_tolerates(one, taint) for one in options.tolerations) for taint in taints
    )


def _passes(taint: Mapping[str, str]) -> bool:
    """Whether it keeps nobody away, or only for as long as the node is cordoned or unwell."""
    return taint["effect"] == "PreferNoSchedule" or taint["key"].startswith("node.kubernetes.io/")


def _why_closed(node: Mapping[str, Any]) -> str | None:
    """Why Kubernetes starts no pod there now; None where it does."""
    if (node.get("spec") or {}).get("unschedulable"):
        return "it is cordoned in Kubernetes"
    ready: Mapping[str, str] = next(
        (one for one in node["status"].get("conditions") or () if one["type"] == "Ready"), {}
    )
    if ready.get("status") == "True":
        return None
    message = f" ({ready['message']})" if ready.get("message") else ""
    return f"it is not ready in Kubernetes{message}"


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    return (
        toleration["key"] in ("", taint["key"])
        and toleration.get("effect", taint["effect"]) == taint["effect"]
        and (toleration["operator"] == "Exists" or toleration.get("value", "") == taint.get("value", ""))
    )


def _node(node: Mapping[str, Any], gpu_resources: Sequence[str]) -> ClusterNode:
    room = node["status"].get("allocatable") or {}
    labels = node["metadata"].get("labels") or {}
    resource = next((name for name in gpu_resources if quantity(room.get(name, "0"))), None)
    facts = NodeFacts(
        name=node["metadata"]["name"],
        cpus=int(quantity(room.get("cpu", "0"))),
        memory_bytes=int(quantity(room.get("memory", "0"))),
        gpus=int(quantity(room[resource])) if resource else 0,
        gpu_model=next((labels[name] for name in _MODEL if name in labels), ""),
        gpu_memory_bytes=int(labels.get(_GPU_MEMORY_MIB, "0")) * 1024**2,
        labels={key: value for key, value in labels.items() if not key.startswith("beta.")},
        closed=_why_closed(node),
    )
    return ClusterNode(facts, resource)
