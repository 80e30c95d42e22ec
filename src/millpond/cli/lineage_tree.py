"""A graph of lineage as a tree of lines: what something was made from, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.cli.session import Session
from millpond.model.names import MODEL_PREFIX
from millpond.wire.lineage import LineageGraph, LineageNode


def show_graph(mill: Session, graph: LineageGraph) -> None:
    if mill.out.as_json:
        mill.out.json(graph.model_dump(mode="json"))
        return
    nodes = {node.key: node for node in graph.nodes}
    for title, up in (("made from", True), ("made into", False)):
        lines = list(_below(graph, nodes, graph.root, up=up, indent="  ", seen={graph.root}))
        if lines:
            mill.out.line(f"{_written(nodes[graph.root])} {title}")
            for line in lines:
                mill.out.line(line)
    if not graph.edges:
        mill.out.note("Nothing is known about how it was made, and nothing was made from it.")
    if graph.is_cut:
        mill.out.note(f"There is more than these {len(graph.nodes)} nodes: use --limit.")


def _below(
    graph: LineageGraph, nodes: dict[str, LineageNode], key: str, *, up: bool, indent: str, seen: set[str]
) -> Iterator[str]:
    near = [
        (edge.source if up else edge.target, edge.role)
        for edge in graph.edges
        if (edge.target if up else edge.source) == key
    ]
    for other, role in near:
        known = " (see above)" if other in seen else ""
        yield f"{indent}{role}: {_written(nodes[other])}{known}"
        if not known:
            seen.add(other)
            yield from _below(graph, nodes, other, up=up, indent=f"{indent}  ", seen=seen)
    if nodes[key].more_up if up else nodes[key].more_down:
        yield f"{indent}… more"


def _written(node: LineageNode) -> str:
    if node.is_gone:
        return f"{node.kind.value} {node.id[:12]} (deleted)"
    if node.version is not None and node.dataset is not None:
        return f"model {node.project}/{node.dataset.removeprefix(MODEL_PREFIX)}@{node.version}"
    if node.dataset is not None:
        return f"{node.project}/{node.dataset}@{node.id[:12]}"
    if node.kind.value == "import":
        return f"import {node.name}"
    state = f", {node.state}" if node.state else ""
    return f"run {node.project}/{node.name} ({node.id}{state})"
