/** Where nodes of lineage stand: what was there first is on the left. */
import { Graph, layout } from "@dagrejs/dagre";
import type { Merged } from "./merge";

export const NODE_WIDTH = 230;
export const NODE_HEIGHT = 62;

export function placesOf({ nodes, edges }: Merged): Map<string, { x: number; y: number }> {
  const drawn = new Graph();
  drawn.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 70 });
  drawn.setDefaultEdgeLabel(() => ({}));
  for (const { key } of nodes) drawn.setNode(key, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { source, target } of edges) if (source !== target) drawn.setEdge(source, target);
  layout(drawn);
  return new Map(
    nodes.map(({ key }) => {
      const { x, y } = drawn.node(key) as { x: number; y: number };
      return [key, { x: Math.round(x - NODE_WIDTH / 2), y: Math.round(y - NODE_HEIGHT / 2) }];
    }),
  );
}
