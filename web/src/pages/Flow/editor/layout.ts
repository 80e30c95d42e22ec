/** Where steps stand: as the file says, and by the graph's own order where it says nothing. */
import { Graph, layout } from "@dagrejs/dagre";
import type { FlowGraph } from "../../../lib/flow/graph";

export const NODE_WIDTH = 220;
const NODE_HEIGHT = 84;
const ROW = 22;

/** The height of a step with so many ports on its fuller side. */
export function nodeHeight(ports: number): number {
  return NODE_HEIGHT + Math.max(0, ports - 1) * ROW;
}

/** Positions of all steps, left to right; those of the file are ignored. */
export function layoutOf(graph: FlowGraph, height: (step: string) => number): Map<string, [number, number]> {
  const drawn = new Graph();
  drawn.setGraph({ rankdir: "LR", nodesep: 36, ranksep: 70 });
  drawn.setDefaultEdgeLabel(() => ({}));
  for (const { name } of graph.steps) drawn.setNode(name, { width: NODE_WIDTH, height: height(name) });
  for (const { from, to } of graph.edges) drawn.setEdge(from, to);
  layout(drawn);
  return new Map(
    graph.steps.map(({ name }) => {
      const { x, y, height: tall } = drawn.node(name) as { x: number; y: number; height: number };
      return [name, [Math.round(x - NODE_WIDTH / 2), Math.round(y - tall / 2)]];
    }),
  );
}

/** Positions as the file says them; the others stand where the layout puts them. */
export function positionsOf(
  graph: FlowGraph,
  height: (step: string) => number,
): Map<string, [number, number]> {
  if (graph.steps.every((step) => step.position)) {
    return new Map(graph.steps.map((step) => [step.name, step.position as [number, number]]));
  }
  const made = layoutOf(graph, height);
  for (const step of graph.steps) if (step.position) made.set(step.name, step.position);
  return made;
}

const GAP = 70;

/** Where a step that is added without a place goes: right of the chosen one, or of all, where nothing stands yet. */
export function freePlace(
  taken: ReadonlyMap<string, readonly [number, number]>,
  beside: string | null,
): [number, number] {
  const places = [...taken.values()];
  if (places.length === 0) return [60, 60];
  const chosen = beside === null ? undefined : taken.get(beside);
  const x = (chosen?.[0] ?? Math.max(...places.map(([left]) => left))) + NODE_WIDTH + GAP;
  const isTaken = (y: number) =>
    places.some(([left, top]) => Math.abs(left - x) < NODE_WIDTH && Math.abs(top - y) < NODE_HEIGHT + GAP);
  let y = chosen?.[1] ?? Math.min(...places.map(([, top]) => top));
  while (isTaken(y)) y += NODE_HEIGHT + GAP;
  return [x, y];
}
