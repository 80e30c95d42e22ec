"""Which neighbours edges of lineage give a commit or a run: the graph that people look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millpond.model.lineage import LineageEdge, LineageRole, Maker
from millpond.model.lineage_graph import NodeKey, NodeKind

MADE = "made"
_WORK = {"job": NodeKind.JOB, "run": NodeKind.RUN}


@dataclass(frozen=True, slots=True)
class Neighbour:
    key: NodeKey
    role: str


def makers_of(commit: NodeKey, edges: Iterable[LineageEdge]) -> list[Neighbour]:
    """What stands before a commit: the run that made it, the commit before it, the place it was imported from.

    What the run has read stands before the run, and not here.
    """
    return list(dict.fromkeys(found for edge in edges for found in _before(edge) if found.key != commit))


def readers_of(commit: NodeKey, edges: Iterable[LineageEdge]) -> list[Neighbour]:
    """What came of a commit: runs that have read it, commits that were made from it without a run."""
    return list(dict.fromkeys(found for edge in edges for found in _after(edge) if found.key != commit))


def sources_of_work(edges: Iterable[LineageEdge]) -> list[Neighbour]:
    return list(
        dict.fromkeys(
            Neighbour(_commit(edge.source), edge.role.value)
            for edge in edges
            if edge.source is not None and edge.role is not LineageRole.PARENT
        )
    )


def made_by_work(edges: Iterable[LineageEdge]) -> list[Neighbour]:
    return list(dict.fromkeys(Neighbour(_commit(edge.made), MADE) for edge in edges if edge.made is not None))


def _before(edge: LineageEdge) -> Iterator[Neighbour]:
    work = _work(edge.maker)
    if work is not None:
        yield Neighbour(work, MADE)
    elif edge.maker.kind == "import" and edge.maker.id:
        yield Neighbour(NodeKey(NodeKind.IMPORT, edge.maker.id), MADE)
    if edge.source is not None and (work is None or edge.role is LineageRole.PARENT):
        yield Neighbour(_commit(edge.source), edge.role.value)


def _after(edge: LineageEdge) -> Iterator[Neighbour]:
    work = _work(edge.maker)
    if work is not None and edge.role is not LineageRole.PARENT:
        yield Neighbour(work, edge.role.value)
    elif edge.made is not None:
        yield Neighbour(_commit(edge.made), edge.role.value)


def _work(maker: Maker) -> NodeKey | None:
    kind = _WORK.get(maker.kind)
    return NodeKey(kind, maker.id) if kind is not None and maker.id else None


def _commit(commit_id: str) -> NodeKey:
    return NodeKey(NodeKind.COMMIT, commit_id)
