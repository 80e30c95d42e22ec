"""Which nodes of a cluster jobs may run on, and what is there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millpond.agent.drivers.kubernetes.nodes import quantity, usable_nodes
from millpond.agent.drivers.kubernetes.options import KubernetesOptions


def a_node(
    name: str = "n1", *, ready: bool = True, labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    room = {"cpu": "3920m", "memory": "16Gi", "pods": "110", **spec.pop("room", {})}
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"allocatable": room, "conditions": conditions}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": status}


def names(*nodes: dict[str, Any], **options: list[str]) -> list[str]:
    told = KubernetesOptions.model_validate({"image": "x", "mount": ["/m=host"], **options})
    return [node.facts.name for node in usable_nodes(nodes, told)]


@pytest.mark.parametrize(
    ("text", "amount"), [("2", 2), ("1500m", Decimal("1.5")), ("8Gi", 8 * 1024**3), ("5k", 5000), ("1e3", 1000)]
)
def test_quantities(text: str, amount: Decimal) -> None:
    assert quantity(text) == amount


def test_what_is_no_quantity() -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity("many")


def test_what_a_node_has() -> None:
    labels = {"nvidia.com/gpu.product": "A100", "nvidia.com/gpu.memory": "40960", "beta.kubernetes.io/os": "linux"}
    told = KubernetesOptions(image="x", mount=["/m=host"])
    (node,) = usable_nodes([a_node(labels=labels, room={"nvidia.com/gpu": "4"})], told)
    facts = node.facts
    assert (facts.cpus, facts.memory_bytes, facts.gpus, facts.gpu_model) == (3, 16 * 1024**3, 4, "A100")
    assert facts.gpu_memory_bytes == 40 * 1024**3
    assert node.gpu_resource == "nvidia.com/gpu"
    assert "beta.kubernetes.io/os" not in facts.labels


def test_only_nodes_that_take_these_jobs() -> None:
    tainted = a_node("tainted", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    nodes = (a_node("b"), a_node("a", labels={"pool": "gpu"}), tainted)
    assert names(*nodes) == ["a", "b"]
    assert names(*nodes, toleration=["gpu"]) == ["a", "b", "tainted"]
    assert names(*nodes, toleration=["gpu=no"]) == ["a", "b"]
    assert names(*nodes, toleration=["gpu=yes:NoSchedule"]) == ["a", "b", "tainted"]
    assert names(*nodes, node_selector=["pool=gpu"]) == ["a"]
    assert names(a_node("soft", taints=[{"key": "x", "effect": "PreferNoSchedule"}])) == ["soft"]


def test_why_a_node_takes_no_pods_now() -> None:
    taints = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    nodes = [a_node("a", unschedulable=True, taints=taints), a_node("b", ready=False), a_node("c")]
    found = usable_nodes(nodes, KubernetesOptions(image="x", mount=["/m=host"]))
    closed = ["it is cordoned in Kubernetes", "it is not ready in Kubernetes", None]
    assert [node.facts.closed for node in found] == closed
