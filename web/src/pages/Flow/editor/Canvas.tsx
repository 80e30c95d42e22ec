/** The graph, drawn: drag, connect, delete. Every change becomes a change of the text. */
import { useMantineColorScheme } from "@mantine/core";
import {
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type Edge,
  MiniMap,
  type Node,
  ReactFlow,
  useNodesState,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type ReactNode, useCallback, useEffect, useMemo } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import type { FlowEdge, FlowGraph } from "../../../lib/flow/graph";
import { IN, inputName, NEW_INPUT, OUT, type Wanted, whyNot } from "./connecting";
import { edgesOf, nodesOf } from "./nodes";
import { type PaletteItem, readDrop } from "./paletteItems";
import { StepNode } from "./StepNode";

interface Props {
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  problems: ReadonlyMap<string, string>;
  selected: string | null;
  footers?: ReadonlyMap<string, ReactNode>;
  onSelect: (step: string | null) => void;
  /** None: the graph is only looked at. */
  editing?: Editing;
}

export interface Editing {
  onMove: (moved: readonly { step: string; at: [number, number] }[]) => void;
  onConnect: (wanted: Wanted, all: boolean) => void;
  onOrder: (from: string, to: string) => void;
  onDisconnect: (edges: readonly FlowEdge[]) => void;
  onRemove: (steps: readonly string[]) => void;
  onDrop: (item: PaletteItem, at: [number, number]) => void;
  onRefuse: (why: string) => void;
}

const TYPES = { step: StepNode };

export function Canvas(props: Props) {
  const { graph, library, problems, selected, footers, editing } = props;
  const isEditable = editing !== undefined;
  const { colorScheme } = useMantineColorScheme();
  const { screenToFlowPosition } = useReactFlow();
  const made = useMemo(
    () => nodesOf(graph, { library, problems, selected, isEditable, footers }),
    [graph, library, problems, selected, isEditable, footers],
  );
  // While a node is dragged its position is the canvas's own; the text hears of it when it is let go.
  const [nodes, setNodes, onNodesChange] = useNodesState(made);
  useEffect(() => setNodes((before) => keepMeasures(before, made)), [made, setNodes]);
  const edges = useMemo(() => edgesOf(graph), [graph]);

  const check = useCallback(
    (edge: Connection | Edge) => isOrder(edge) || whyNot(graph, library, wantedOf(edge)) === null,
    [graph, library],
  );
  const connect = (edge: Connection) => {
    if (isOrder(edge)) return editing?.onOrder(edge.source, edge.target);
    const wanted = wantedOf(edge);
    const why = whyNot(graph, library, wanted);
    if (why) return editing?.onRefuse(why);
    const from = graph.steps.find((step) => step.name === wanted.from);
    editing?.onConnect(wanted, from?.value.each !== undefined);
  };

  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={TYPES}
      onNodesChange={onNodesChange}
      onNodeClick={(_, node) => props.onSelect(node.id)}
      onPaneClick={() => props.onSelect(null)}
      onNodeDragStop={(_, __, moved) =>
        editing?.onMove(moved.map((node) => ({ step: node.id, at: placeOf(node) })))
      }
      onConnect={connect}
      onConnectEnd={(_, { fromHandle, toHandle, isValid }) => {
        if (fromHandle && toHandle && !isValid)
          editing?.onRefuse(refusal(graph, library, fromHandle, toHandle));
      }}
      isValidConnection={check}
      onNodesDelete={(gone) => editing?.onRemove(gone.map((node) => node.id))}
      onEdgesDelete={(gone) =>
        editing?.onDisconnect(gone.map((edge) => (edge.data as { edge: FlowEdge }).edge))
      }
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        const item = readDrop(event.dataTransfer);
        const { x, y } = screenToFlowPosition({ x: event.clientX, y: event.clientY });
        if (item) editing?.onDrop(item, [Math.round(x), Math.round(y)]);
      }}
      colorMode={colorScheme === "auto" ? "system" : colorScheme}
      nodesDraggable={isEditable}
      nodesConnectable={isEditable}
      deleteKeyCode={isEditable ? ["Delete", "Backspace"] : null}
      snapToGrid
      snapGrid={[10, 10]}
      fitView
      fitViewOptions={{ maxZoom: 1, padding: 0.15 }}
      minZoom={0.1}
      onlyRenderVisibleElements={nodes.length > 60}
      proOptions={{ hideAttribution: true }}
      aria-label="Graph of the flow"
    >
      <Background variant={BackgroundVariant.Dots} gap={20} />
      <Controls showInteractive={false} />
      {nodes.length > 12 && <MiniMap pannable zoomable ariaLabel="Overview of the graph" />}
    </ReactFlow>
  );
}

/** What the canvas measured stays, so that nothing flickers when the text changes. */
function keepMeasures<N extends Node>(before: N[], made: N[]): N[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return made.map((node) => ({ ...node, measured: known.get(node.id)?.measured }));
}

function placeOf(node: Node): [number, number] {
  return [Math.round(node.position.x), Math.round(node.position.y)];
}

function isOrder(edge: Connection | Edge): boolean {
  return edge.sourceHandle === "order-out" && edge.targetHandle === "order-in";
}

function wantedOf(edge: Connection | Edge): Wanted {
  const output = (edge.sourceHandle ?? "").replace(OUT, "");
  const input = edge.targetHandle ?? "";
  const named = { from: edge.source, output };
  return { ...named, to: edge.target, input: input === NEW_INPUT ? inputName(named) : input.replace(IN, "") };
}

interface End {
  nodeId: string;
  id?: string | null;
  type: string;
}

function refusal(graph: FlowGraph, library: readonly LibraryComponent[], one: End, other: End): string {
  const [from, to] = one.type === "source" ? [one, other] : [other, one];
  if (from.type !== "source" || to.type !== "target") return "Connect an output to an input.";
  const edge = {
    source: from.nodeId,
    sourceHandle: from.id ?? "",
    target: to.nodeId,
    targetHandle: to.id ?? "",
  };
  return whyNot(graph, library, wantedOf(edge as Connection)) ?? "Connect an output to an input.";
}
