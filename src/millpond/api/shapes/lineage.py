"""Lineage as the wire shows it."""

from __future__ import annotations

from millpond.model.lineage_graph import LineageGraph, LineageNode
from millpond.wire import lineage as wire


def graph(value: LineageGraph) -> wire.LineageGraph:
    return wire.LineageGraph(
        root=str(value.root),
        nodes=[_node(one) for one in value.nodes],
        edges=[
            wire.LineageLink.model_validate(
                {"source": str(one.source), "target": str(one.target), "role": one.role}
            )
            for one in value.links
        ],
        is_cut=value.is_cut,
    )  # fmt: skip


def _node(value: LineageNode) -> wire.LineageNode:
    return wire.LineageNode(
        key=str(value.key),
        kind=value.key.kind,
        id=value.key.id,
        level=value.level,
        project=value.project,
        dataset=value.dataset,
        version=value.version,
        name=value.name,
        state=value.state,
        job=value.job,
        at=value.at,
        is_gone=value.is_gone,
        more_up=value.more_up,
        more_down=value.more_down,
    )
