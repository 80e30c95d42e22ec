"""The graph of lineage around a commit, run or job: level by level, each node's newest neighbours first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from millpond.db import lineage_graph as rows
from millpond.decide import lineage_graph as decisions
from millpond.decide.lineage_graph import Neighbour
from millpond.model.lineage import LineageDirection, Maker
from millpond.model.lineage_graph import LineageGraph, LineageLink, LineageNode, NodeKey, NodeKind
from millpond.model.people import Actor, Project
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.jobs import jobs
from millpond.services.people import access
from millpond.services.runs import artifact_commits, runs

MOST_DEPTH = 20
MOST_NODES = 2000
MOST_WIDTH = 1000
# A run has several edges for each commit it reads: its own, and those of what it has made.
_EDGES_PER_NEIGHBOUR = 4
_LOOK_BEHIND = 5


@dataclass(frozen=True, slots=True)
class GraphAsked:
    """`depth`: steps from the root. `limit`: nodes in all. `width`: neighbours of a node on one side."""

    directions: tuple[LineageDirection, ...]
    depth: int
    limit: int
    width: int


def of_commit(deps: Deps, actor: Actor, project: Project, written: str, asked: GraphAsked) -> LineageGraph:
    """Around `dataset[@ref]`, or `project/dataset[@ref]`."""
    _, commit = reading.find_commit(deps, actor, written, project=project.name)
    return _graph(deps, actor, NodeKey(NodeKind.COMMIT, commit.id), asked)


def of_run(deps: Deps, actor: Actor, project: Project, written: str, asked: GraphAsked) -> LineageGraph:
    """Around a run, by its id or name."""
    return _around_run(deps, actor, runs.resolve(deps, actor, project, written).run.id, asked)


def of_job(deps: Deps, actor: Actor, project: Project, written: str, asked: GraphAsked) -> LineageGraph:
    """Around a job: its run stands for it."""
    return _around_run(deps, actor, jobs.get_plain(deps, project, written).run_id, asked)


def _around_run(deps: Deps, actor: Actor, run_id: str, asked: GraphAsked) -> LineageGraph:
    # What it has logged up to now is shown, and not only what became a commit by itself.
    artifact_commits.gather(deps, run_id)
    return _graph(deps, actor, NodeKey(NodeKind.RUN, run_id), asked)


def _graph(deps: Deps, actor: Actor, root: NodeKey, asked: GraphAsked) -> LineageGraph:
    with deps.db.read() as tx:
        walk = _Walk(tx, access.visible_projects(actor), asked)
        root = walk.start(root)
        for direction in asked.directions:
            walk.go(root, direction)
    return LineageGraph(root, tuple(walk.nodes.values()), tuple(walk.links), walk.is_cut)


class _Walk:
    """Nodes and links found so far, in one snapshot of the database."""

    def __init__(self, tx: Connection, among: Collection[str] | None, asked: GraphAsked) -> None:
        self._tx = tx
        self._among = among
        self._asked = asked
        self.nodes: dict[NodeKey, LineageNode] = {}
        self.links: dict[LineageLink, None] = {}
        self.is_cut = False

    def start(self, root: NodeKey) -> NodeKey:
        found = self._details([root])[root]
        self.nodes[found.key] = found
        return found.key

    def go(self, root: NodeKey, direction: LineageDirection) -> None:
        """Add what lies that way, up to `depth` steps and `limit` nodes."""
        seen, frontier = {root}, [root]
        for step in range(1, self._asked.depth + 2):
            # Behind the last step only whether there is more matters.
            width = self._asked.width if step <= self._asked.depth else _LOOK_BEHIND
            found = {key: self._neighbours(self.nodes[key], direction, width) for key in frontier}
            details = self._details({one.key for near in found.values() for one in near})
            shown_as = {node.key: node for node in details.values()}
            following: list[NodeKey] = []
            for key, near in found.items():
                shown = dict.fromkeys(replace(one, key=details[one.key].key) for one in near if one.key in details)
                if step > self._asked.depth:
                    self._mark_hidden(key, shown, direction)
                    continue
                for one in self._fitting(key, shown, direction):
                    self._add(shown_as[one.key], step, direction)
                    self._link(key, one, direction)
                    if one.key not in seen:
                        seen.add(one.key)
                        following.append(one.key)
            frontier = following

    def _fitting(self, key: NodeKey, near: Iterable[Neighbour], direction: LineageDirection) -> list[Neighbour]:
        """Those that may be shown; the node is marked if some may not."""
        kept: list[Neighbour] = []
        fresh: set[NodeKey] = set()
        for one in near:
            if one.key not in self.nodes and one.key not in fresh:
                is_full = len(self.nodes) + len(fresh) >= self._asked.limit
                if is_full or len(fresh) >= self._asked.width:
                    self.is_cut |= is_full
                    self._mark(key, direction)
                    continue
                fresh.add(one.key)
            kept.append(one)
        return kept

    def _mark_hidden(self, key: NodeKey, near: Iterable[Neighbour], direction: LineageDirection) -> None:
        """At the last step: links between nodes that are shown are drawn, of others is said that they exist."""
        for one in near:
            if one.key in self.nodes:
                self._link(key, one, direction)
            else:
                self._mark(key, direction)

    def _mark(self, key: NodeKey, direction: LineageDirection) -> None:
        node = self.nodes[key]
        is_up = direction is LineageDirection.UP
        self.nodes[key] = replace(node, more_up=True) if is_up else replace(node, more_down=True)

    def _add(self, node: LineageNode, step: int, direction: LineageDirection) -> None:
        level = -step if direction is LineageDirection.UP else step
        self.nodes.setdefault(node.key, replace(node, level=level))

    def _link(self, key: NodeKey, near: Neighbour, direction: LineageDirection) -> None:
        ends = (near.key, key) if direction is LineageDirection.UP else (key, near.key)
        self.links[LineageLink(*ends, near.role)] = None

    def _neighbours(self, node: LineageNode, direction: LineageDirection, width: int) -> list[Neighbour]:
        key, up = node.key, direction is LineageDirection.UP
        limit = (width + 1) * _EDGES_PER_NEIGHBOUR
        if key.kind is NodeKind.COMMIT:
            read = rows.made if up else rows.made_from
            edges = read(self._tx, key.id, among=self._among, limit=limit)
            return decisions.makers_of(key, edges) if up else decisions.readers_of(key, edges)
        if key.kind is NodeKind.IMPORT:
            return []
        makers = [Maker(key.kind.value, key.id), *([Maker("job", node.job)] if node.job else [])]
        edges = rows.of_work(self._tx, makers, made=not up, among=self._among, limit=limit)
        return decisions.sources_of_work(edges) if up else decisions.made_by_work(edges)

    def _details(self, keys: Iterable[NodeKey]) -> dict[NodeKey, LineageNode]:
        """What is shown of each, under the key that was asked for: a job is shown as its run."""
        ids: dict[NodeKind, list[str]] = {kind: [] for kind in NodeKind}
        found: dict[NodeKey, LineageNode] = {}
        for key in keys:
            if key in self.nodes:
                found[key] = self.nodes[key]
            else:
                ids[key.kind].append(key.id)
        by_run, by_job = rows.runs(
            self._tx, run_ids=ids[NodeKind.RUN], job_ids=ids[NodeKind.JOB], among=self._among
        )  # fmt: skip
        commits = rows.commits(self._tx, ids[NodeKind.COMMIT], among=self._among)
        found |= {NodeKey(NodeKind.COMMIT, one): node for one, node in commits.items()}
        for kind, known in ((NodeKind.RUN, by_run), (NodeKind.JOB, by_job)):
            for one in ids[kind]:
                key = NodeKey(kind, one)
                found[key] = known.get(one) or LineageNode(key, is_gone=True)
        for one in ids[NodeKind.IMPORT]:
            key = NodeKey(NodeKind.IMPORT, one)
            found[key] = LineageNode(key, name=one)
        return found
