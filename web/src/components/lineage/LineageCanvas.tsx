/** The graph, drawn: what was there first on the left. In a file of its own: it is loaded by those who look at one. */
import { useMantineColorScheme } from "@mantine/core";
import {
  Background,
  BackgroundVariant,
  Controls,
  type Edge,
  MarkerType,
  MiniMap,
  ReactFlow,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import type { LineageLink, LineageNode } from "../../api/shapes";
import { type CardNode, LineageNodeCard } from "./LineageNodeCard";
import { NODE_HEIGHT, NODE_WIDTH, placesOf } from "./layout";
import type { Merged, Side } from "./merge";

const TYPES = { lineage: LineageNodeCard };
/** What people ask first, what was read and made, is drawn without words. */
const WORDS: Partial<Record<LineageLink["role"], string>> = {
  code: "code",
  parent: "parent",
  origin: "from",
};

interface Props {
  graph: Merged;
  onMore: (node: LineageNode, side: Side) => void;
}

export default function LineageCanvas({ graph, onMore }: Props) {
  const { colorScheme } = useMantineColorScheme();
  const pressed = useRef<string | null>(null);
  const more = useCallback<Props["onMore"]>(
    (node, side) => {
      pressed.current = node.key;
      onMore(node, side);
    },
    [onMore],
  );
  const nodes = useMemo(() => nodesOf(graph, more), [graph, more]);
  const edges = useMemo(() => edgesOf(graph), [graph]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={TYPES}
      colorMode={colorScheme === "auto" ? "system" : colorScheme}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      deleteKeyCode={null}
      fitView
      fitViewOptions={{ maxZoom: 1, minZoom: 0.4, padding: 0.1, nodes: aroundRoot(graph) }}
      minZoom={0.05}
      onlyRenderVisibleElements={nodes.length > 100}
      proOptions={{ hideAttribution: true }}
      aria-label="Graph of lineage"
    >
      <Steady nodes={nodes} pressed={pressed} />
      <Background variant={BackgroundVariant.Dots} gap={20} />
      <Controls showInteractive={false} />
      {nodes.length > 40 && <MiniMap pannable zoomable ariaLabel="Overview of the graph" />}
    </ReactFlow>
  );
}

/** When neighbours have come, the node that they were asked for stays where it was on the screen. */
function Steady({ nodes, pressed }: { nodes: CardNode[]; pressed: RefObject<string | null> }) {
  const { getViewport, setViewport } = useReactFlow();
  const before = useRef(nodes);
  useEffect(() => {
    const place = (among: CardNode[]) => among.find((node) => node.id === pressed.current)?.position;
    const [from, to] = [place(before.current), place(nodes)];
    before.current = nodes;
    if (!from || !to) return;
    const { x, y, zoom } = getViewport();
    void setViewport({ x: x + (from.x - to.x) * zoom, y: y + (from.y - to.y) * zoom, zoom });
  }, [nodes, pressed, getViewport, setViewport]);
  return null;
}

/** Of a large graph, what lies near the root is in sight at first. */
function aroundRoot({ nodes }: Merged): { id: string }[] | undefined {
  if (nodes.length <= 40) return undefined;
  return nodes.filter((node) => Math.abs(node.level) <= 1).map((node) => ({ id: node.key }));
}

function nodesOf(graph: Merged, onMore: Props["onMore"]): CardNode[] {
  const places = placesOf(graph);
  return graph.nodes.map((node) => ({
    id: node.key,
    type: "lineage",
    position: places.get(node.key) ?? { x: 0, y: 0 },
    initialWidth: NODE_WIDTH,
    initialHeight: NODE_HEIGHT,
    data: { node, isRoot: node.key === graph.root, onMore },
  }));
}

function edgesOf(graph: Merged): Edge[] {
  return graph.edges.map(({ source, target, role }) => ({
    id: `${source} ${target} ${role}`,
    source,
    target,
    label: WORDS[role],
    className: `lineage-edge-${role}`,
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
  }));
}
