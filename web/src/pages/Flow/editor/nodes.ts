/** The graph of a flow as nodes and edges of the canvas. */
import { type Edge, MarkerType } from "@xyflow/react";
import type { ReactNode } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import type { FlowEdge, FlowGraph, FlowStep } from "../../../lib/flow/graph";
import { AFTER, BEFORE, IN, OUT } from "./connecting";
import { nodeHeight, positionsOf } from "./layout";
import { object, portsOf } from "./library";
import type { StepNodeType } from "./StepNode";

interface Shown {
  library: readonly LibraryComponent[];
  /** What is wrong with a step, by name. */
  problems: ReadonlyMap<string, string>;
  isEditable: boolean;
  /** Shown on a step instead of its options: how it goes in a run. */
  footers?: ReadonlyMap<string, ReactNode>;
}

export function nodesOf(graph: FlowGraph, shown: Shown): StepNodeType[] {
  const ports = new Map(graph.steps.map((step) => [step.name, portsOf(step, shown.library)]));
  const height = (name: string) => {
    const found = ports.get(name);
    return nodeHeight(Math.max(found?.inputs.length ?? 0, found?.outputs.length ?? 0));
  };
  const positions = positionsOf(graph, height);
  return graph.steps.map((step) => {
    const [x, y] = positions.get(step.name) ?? [0, 0];
    const [what, marks, problem] = [whatOf(step), marksOf(step), shown.problems.get(step.name)];
    const own = ports.get(step.name) ?? { inputs: [], outputs: [], isOpen: false };
    return {
      id: step.name,
      type: "step",
      position: { x, y },
      ariaLabel: `Step ${step.name}`,
      data: {
        name: step.name,
        kind: step.kind,
        what,
        ports: own,
        marks,
        problem,
        looks: JSON.stringify([step.kind, what, marks, problem, own, shown.isEditable]),
        footer: shown.footers?.get(step.name),
        isEditable: shown.isEditable,
      },
    };
  });
}

export function whatOf({ kind, value }: FlowStep): string {
  if (kind === "dataset") return String(value.dataset ?? "");
  if (kind === "component") return String(value.component ?? "");
  if (kind === "approval") return `approval by ${object(value.approval).role ?? "admin"}`;
  return Array.isArray(value.command) ? value.command.join(" ") : "command";
}

/** `on gpu-real`, `over lr`, `if …` */
export function marksOf({ kind, value }: FlowStep): string[] {
  const marks: string[] = [];
  if (kind === "dataset") marks.push(`cached: ${value.cached ?? "near"}`);
  const where =
    value.queue ?? value.template ?? (Array.isArray(value.templates) ? value.templates.join(", ") : null);
  if (where) marks.push(`on ${where}`);
  if (value.each)
    marks.push(
      `over ${typeof value.each === "string" ? "a list" : Object.keys(object(value.each)).join(" × ")}`,
    );
  if (value.when) marks.push(`if ${String(value.when).replace(/^\$\{|\}$/g, "")}`);
  return marks;
}

export function edgesOf(graph: FlowGraph, library: readonly LibraryComponent[]): Edge[] {
  const ports = new Map(
    graph.steps.map((step) => [step.name, new Set(portsOf(step, library).outputs.map((port) => port.name))]),
  );
  const seen = new Map<string, Edge>();
  for (const edge of graph.edges) {
    const drawn = edgeOf(edge, ports.get(edge.from));
    if (!seen.has(drawn.id)) seen.set(drawn.id, drawn);
  }
  return [...seen.values()];
}

function edgeOf(edge: FlowEdge, outputs: ReadonlySet<string> | undefined): Edge {
  const isData = edge.kind === "data";
  const output = edge.output ?? "";
  return {
    id: isData ? `${edge.to}:${edge.input}` : `${edge.from}:${output}→${edge.to}:${edge.kind}`,
    source: edge.from,
    target: edge.to,
    sourceHandle: edge.kind !== "order" && outputs?.has(output) ? OUT + output : AFTER,
    targetHandle: isData ? IN + edge.input : BEFORE,
    className: `flow-edge flow-edge-${edge.kind}`,
    label: edge.all && isData ? "all" : WORDS[edge.kind],
    ariaLabel: `${edge.to} ${MEANING[edge.kind]} ${edge.from}`,
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
    // Values and conditions are text of a step: they are changed there.
    deletable: isData || edge.kind === "order",
    data: { edge },
  };
}

const WORDS = { data: undefined, value: undefined, condition: "if", order: "after" } as const;
const MEANING = {
  data: "reads files of",
  value: "uses a value of",
  condition: "depends on a value of",
  order: "comes after",
} as const;
