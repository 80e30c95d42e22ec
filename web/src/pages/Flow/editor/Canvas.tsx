/** The graph, drawn: drag, connect, delete. Every change becomes a change of the text. */
import { useMantineColorScheme } from "@mantine/core";
import {
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type Edge,
  MiniMap,
  type NodeChange,
  ReactFlow,
  useNodesInitialized,
  useNodesState,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import type { FlowEdge, FlowGraph } from "../../../lib/flow/graph";
import {
  AFTER,
  BEFORE,
  IN,
  inputFor,
  inputName,
  NEW_INPUT,
  OUT,
  type Wanted,
  whyNot,
  whyNotAfter,
} from "./connecting";
import { NODE_WIDTH } from "./layout";
import { object } from "./library";
import { edgesOf, nodesOf } from "./nodes";
import { type PaletteItem, readDrop, type StepOption } from "./paletteItems";
import { type Fits, FitsContext, StepNode, type StepNodeType } from "./StepNode";

interface Props {
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  problems: ReadonlyMap<string, string>;
  selected: string | null;
  footers?: ReadonlyMap<string, ReactNode>;
  onSelect: (step: string | null) => void;
  /** Counts up when all steps were put in order: then all of them are shown. */
  arranged?: number;
  /** None: the graph is only looked at. */
  editing?: Editing;
}

export interface Editing {
  /** Where all steps stand after some were moved. */
  onMove: (places: ReadonlyMap<string, [number, number]>) => void;
  onConnect: (wanted: Wanted, all: boolean) => void;
  onOrder: (from: string, to: string) => void;
  onDisconnect: (edges: readonly FlowEdge[]) => void;
  onRemove: (steps: readonly string[]) => void;
  onDrop: (item: PaletteItem, at: [number, number]) => void;
  /** A condition or a list was dropped, on a step or beside them. */
  onOption: (option: StepOption, step: string | null) => void;
  onRefuse: (why: string) => void;
}

const TYPES = { step: StepNode };
/** Smaller than this nobody can read a step. */
const LEAST_ZOOM = 0.7;
const FIT = { maxZoom: 1, minZoom: LEAST_ZOOM, padding: 0.12 };

export function Canvas(props: Props) {
  const { graph, library, problems, selected, footers, editing, arranged = 0, onSelect } = props;
  const isEditable = editing !== undefined;
  const { colorScheme } = useMantineColorScheme();
  const flow = useReactFlow<StepNodeType>();
  const made = useMemo(
    () => nodesOf(graph, { library, problems, isEditable, footers }),
    [graph, library, problems, isEditable, footers],
  );
  // While a node is dragged its position is the canvas's own; the text hears of it when it is let go.
  const [nodes, setNodes, onNodesChange] = useNodesState(made);
  useEffect(() => setNodes((before) => carryOver(before, made)), [made, setNodes]);
  useEffect(() => setNodes((before) => withSelected(before, selected)), [selected, setNodes]);
  const edges = useSameEdges(useMemo(() => edgesOf(graph, library), [graph, library]));
  // What is drawn from nothing stays where it is dropped.
  const [hadSteps] = useState(graph.steps.length > 0);
  useFirstLook(hadSteps);
  useInSight(selected);
  useEffect(() => {
    if (arranged === 0) return;
    const timer = setTimeout(() => void flow.fitView({ ...FIT, duration: 200 }), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [arranged, flow]);

  const refusal = useCallback(
    (edge: Connection | Edge) =>
      isOrder(edge)
        ? whyNotAfter(graph, edge.source, edge.target)
        : isOrder(edge, true)
          ? "Connect an output to an input, or the top corners of two steps for their order."
          : whyNot(graph, library, wantedOf(edge, graph)),
    [graph, library],
  );
  // The same function always: otherwise every port would be drawn again with every change.
  const newest = useRef(refusal);
  newest.current = refusal;
  const fits = useCallback<Fits>(
    (from, handle, to, input) =>
      newest.current({ source: from, sourceHandle: handle, target: to, targetHandle: input }) === null,
    [],
  );
  const connect = (edge: Connection) => {
    const why = refusal(edge);
    if (why) return editing?.onRefuse(why);
    if (isOrder(edge)) return editing?.onOrder(edge.source, edge.target);
    const from = graph.steps.find((step) => step.name === edge.source);
    editing?.onConnect(wantedOf(edge, graph), from?.value.each !== undefined);
  };
  const change = (changes: NodeChange<StepNodeType>[]) => {
    onNodesChange(changes);
    const chosen = changes.flatMap((one) => (one.type === "select" && one.selected ? [one.id] : []));
    if (chosen.length === 1 && chosen[0] !== selected) onSelect(chosen[0] as string);
    const isMoved = changes.some((one) => one.type === "position" && one.dragging === false && one.position);
    if (isMoved) editing?.onMove(placesOf(moved(nodes, changes)));
  };

  return (
    <FitsContext value={fits}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        onNodesChange={change}
        onPaneClick={() => onSelect(null)}
        onConnect={connect}
        onConnectEnd={(event, { fromHandle, toHandle, isValid }) => {
          if (!fromHandle || isValid || !editing) return;
          const end = toHandle ?? endAt(event, graph, library, fromHandle);
          if (!end) return;
          const edge = edgeBetween(fromHandle, end);
          if (!edge) editing.onRefuse("Connect an output to an input.");
          else connect(edge);
        }}
        isValidConnection={(edge) => refusal(edge) === null}
        onNodesDelete={(gone) => editing?.onRemove(gone.map((node) => node.id))}
        onEdgesDelete={(gone) =>
          editing?.onDisconnect(gone.map((edge) => (edge.data as { edge: FlowEdge }).edge))
        }
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          const item = readDrop(event.dataTransfer);
          const step = stepAt(event.clientX, event.clientY);
          if (item?.kind === "option") return editing?.onOption(item.option, step);
          const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
          const at: [number, number] = [onGrid(x - NODE_WIDTH / 2), onGrid(y - 24)];
          if (item) editing?.onDrop(item, at);
        }}
        colorMode={colorScheme === "auto" ? "system" : colorScheme}
        nodesDraggable={isEditable}
        nodesConnectable={isEditable}
        deleteKeyCode={isEditable ? DELETE_KEYS : null}
        // The form opens at a click, not in the middle of a drag.
        selectNodesOnDrag={false}
        connectionRadius={28}
        snapToGrid
        snapGrid={GRID}
        fitView={hadSteps}
        fitViewOptions={FIT}
        minZoom={0.1}
        onlyRenderVisibleElements={nodes.length > 60}
        proOptions={NO_ATTRIBUTION}
        aria-label="Graph of the flow"
      >
        <Background variant={BackgroundVariant.Dots} gap={20} />
        <Controls showInteractive={false} fitViewOptions={{ ...FIT, minZoom: 0.1 }} />
        {nodes.length > 12 && <MiniMap pannable zoomable ariaLabel="Overview of the graph" />}
      </ReactFlow>
    </FitsContext>
  );
}

/** Until what changed is drawn and measured. */
const SETTLE_MS = 120;
const DELETE_KEYS = ["Delete", "Backspace"];
const GRID: [number, number] = [10, 10];
const NO_ATTRIBUTION = { hideAttribution: true };

function onGrid(value: number): number {
  return Math.round(value / 10) * 10 || 0;
}

/** A graph that is too wide to be read at once is shown from its beginning. */
function useFirstLook(hasSteps: boolean): void {
  const flow = useReactFlow();
  const isMeasured = useNodesInitialized();
  const isDone = useRef(false);
  useEffect(() => {
    if (!isMeasured || !hasSteps || isDone.current) return;
    isDone.current = true;
    const bounds = flow.getNodesBounds(flow.getNodes());
    const { zoom } = flow.getViewport();
    const { width } = document.querySelector(".react-flow")?.getBoundingClientRect() ?? { width: 0 };
    if (bounds.width * zoom <= width) return;
    const y = flow.getViewport().y;
    void flow.setViewport({ x: 24 - bounds.x * zoom, y, zoom });
  }, [isMeasured, hasSteps, flow]);
}

/** Moves the view so that the chosen step is in it: the form beside it may have covered it. */
function useInSight(selected: string | null): void {
  const flow = useReactFlow();
  useEffect(() => {
    if (selected === null) return;
    const timer = setTimeout(() => {
      const frame = document.querySelector(".react-flow")?.getBoundingClientRect();
      const node = flow.getNode(selected);
      if (!frame || !node) return;
      const { x, y, width, height } = flow.getNodesBounds([node]);
      const from = flow.flowToScreenPosition({ x, y });
      const to = flow.flowToScreenPosition({ x: x + width, y: y + height });
      if (from.x >= frame.left && from.y >= frame.top && to.x <= frame.right && to.y <= frame.bottom) return;
      void flow.setCenter(x + width / 2, y + height / 2, { zoom: flow.getZoom(), duration: 200 });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [selected, flow]);
}

/** What the canvas knows of its nodes stays, so that nothing flickers when the text changes. */
function carryOver(before: StepNodeType[], made: StepNodeType[]): StepNodeType[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return made.map((node) => {
    const old = known.get(node.id);
    if (!old) return node;
    const isSame = old.data.looks === node.data.looks && old.data.footer === node.data.footer;
    if (isSame && samePlace(old, node)) return old;
    return { ...node, data: isSame ? old.data : node.data, measured: old.measured, selected: old.selected };
  });
}

/** Edges that did not change are the same objects as before: only the others are drawn again. */
function useSameEdges(made: Edge[]): Edge[] {
  const before = useRef(new Map<string, Edge>());
  return useMemo(() => {
    const kept = made.map((edge) => {
      const old = before.current.get(edge.id);
      return old && JSON.stringify(old) === JSON.stringify(edge) ? old : edge;
    });
    before.current = new Map(kept.map((edge) => [edge.id, edge]));
    return kept;
  }, [made]);
}

function samePlace(one: StepNodeType, other: StepNodeType): boolean {
  return one.position.x === other.position.x && one.position.y === other.position.y;
}

function withSelected(nodes: StepNodeType[], selected: string | null): StepNodeType[] {
  if (selected === null && nodes.filter((node) => node.selected).length > 1) return nodes;
  return nodes.map((node) =>
    (node.selected ?? false) === (node.id === selected) ? node : { ...node, selected: node.id === selected },
  );
}

function moved(nodes: StepNodeType[], changes: NodeChange<StepNodeType>[]): StepNodeType[] {
  const places = new Map(
    changes.flatMap((one) =>
      one.type === "position" && one.position ? [[one.id, one.position] as const] : [],
    ),
  );
  return nodes.map((node) => ({ ...node, position: places.get(node.id) ?? node.position }));
}

function placesOf(nodes: readonly StepNodeType[]): Map<string, [number, number]> {
  return new Map(nodes.map(({ id, position }) => [id, [Math.round(position.x), Math.round(position.y)]]));
}

/** `loosely`: only one of its ends is for the order. */
function isOrder(edge: Connection | Edge, loosely = false): boolean {
  const ends = [edge.sourceHandle === AFTER, edge.targetHandle === BEFORE];
  return loosely ? ends.includes(true) : !ends.includes(false);
}

function wantedOf(edge: Connection | Edge, graph: FlowGraph): Wanted {
  const named = { from: edge.source, output: (edge.sourceHandle ?? "").replace(OUT, "") };
  const input = edge.targetHandle ?? "";
  if (input !== NEW_INPUT) return { ...named, to: edge.target, input: input.replace(IN, "") };
  const taken = object(graph.steps.find((step) => step.name === edge.target)?.value.inputs);
  return { ...named, to: edge.target, input: inputName(named, Object.keys(taken)) };
}

interface End {
  nodeId: string;
  id?: string | null;
  type: string;
}

function edgeBetween(one: End, other: End): Connection | null {
  const [from, to] = one.type === "source" ? [one, other] : [other, one];
  if (from.type !== "source" || to.type !== "target") return null;
  return { source: from.nodeId, sourceHandle: from.id ?? "", target: to.nodeId, targetHandle: to.id ?? "" };
}

function stepAt(x: number, y: number): string | null {
  return document.elementFromPoint(x, y)?.closest<HTMLElement>(".react-flow__node")?.dataset.id ?? null;
}

/** A line that is let go over a step, not one of its ports, goes to the first port that fits. */
function endAt(
  event: MouseEvent | TouchEvent,
  graph: FlowGraph,
  library: readonly LibraryComponent[],
  from: End,
): End | null {
  const { clientX, clientY } =
    "changedTouches" in event ? (event.changedTouches[0] ?? { clientX: 0, clientY: 0 }) : event;
  const step = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>(".react-flow__node")
    ?.dataset.id;
  if (!step || step === from.nodeId || from.type !== "source") return null;
  if (from.id === AFTER) return { nodeId: step, id: BEFORE, type: "target" };
  const wanted = { from: from.nodeId, output: (from.id ?? "").replace(OUT, ""), to: step };
  const input = inputFor(graph, library, wanted);
  return { nodeId: step, id: IN + (input ?? ""), type: "target" };
}
