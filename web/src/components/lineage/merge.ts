/** Several answers about lineage as one graph: the first one, and what was asked about single nodes afterwards. */
import { type LineageRoot, rootOf } from "../../api/lineage";
import type { LineageGraph, LineageLink, LineageNode } from "../../api/shapes";

export type Side = "up" | "down";

/** A node whose neighbours on one side were asked for, so many of them. */
export interface Expansion {
  readonly key: string;
  readonly root: LineageRoot;
  readonly side: Side;
  readonly width: number;
}

export interface Answer {
  readonly graph: LineageGraph;
  /** None for the first one. */
  readonly expansion: Expansion | null;
}

export interface Merged {
  readonly root: string;
  readonly nodes: readonly LineageNode[];
  readonly edges: readonly LineageLink[];
}

/** Nodes and edges once each. Whether a node has more neighbours is known best by the answer about that node. */
export function merge(answers: readonly Answer[]): Merged {
  const nodes = new Map<string, LineageNode>();
  const edges = new Map<string, LineageLink>();
  for (const { graph, expansion } of answers) {
    const base = expansion ? (nodes.get(graph.root)?.level ?? 0) : 0;
    for (const node of graph.nodes) {
      const known = nodes.get(node.key);
      if (!known) nodes.set(node.key, { ...node, level: base + node.level });
      else if (expansion && node.key === graph.root)
        nodes.set(node.key, settled(known, node, expansion.side));
    }
    for (const edge of graph.edges) edges.set(`${edge.source} ${edge.target} ${edge.role}`, edge);
  }
  return { root: answers[0]?.graph.root ?? "", nodes: [...nodes.values()], edges: [...edges.values()] };
}

function settled(known: LineageNode, asked: LineageNode, side: Side): LineageNode {
  return side === "up" ? { ...known, more_up: asked.more_up } : { ...known, more_down: asked.more_down };
}

const WIDTHS = [20, 100, 500];

/** Ask for a node's neighbours on one side; asked again, for more of them. */
export function expand(before: readonly Expansion[], node: LineageNode, side: Side): readonly Expansion[] {
  const root = rootOf(node);
  if (!root) return before;
  const isSame = (one: Expansion) => one.key === node.key && one.side === side;
  const width = before.find(isSame)?.width ?? 0;
  const wider = WIDTHS.find((one) => one > width) ?? width;
  return [...before.filter((one) => !isSame(one)), { key: node.key, root, side, width: wider }];
}
