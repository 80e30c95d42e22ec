/** The graph that a `flow.yaml` describes: its steps, and what connects them. */
import { parsed } from "./parsing";

export type StepKind = "dataset" | "component" | "command" | "approval";

export interface FlowStep {
  name: string;
  kind: StepKind;
  /** As written in the file. */
  value: Record<string, unknown>;
  position?: [number, number];
}

export interface FlowEdge {
  from: string;
  /** Output of `from`; none for a dataset, and where only the order counts. */
  output?: string;
  to: string;
  /** Input of `to`; none for values in params, conditions and `after`. */
  input?: string;
  kind: "data" | "value" | "condition" | "order";
  /** From every execution of a step that runs over a list. */
  all: boolean;
}

export interface FlowGraph {
  name: string;
  /** The whole file; empty where it cannot be read. */
  value: Record<string, unknown>;
  steps: FlowStep[];
  edges: FlowEdge[];
  params: Record<string, Record<string, unknown>>;
  /** Why the text cannot be read as YAML. */
  error?: string;
}

const REFERENCE =
  /\bsteps\.([A-Za-z0-9_][A-Za-z0-9_-]*)(\[\*\])?(?:\.outputs\.([A-Za-z0-9_][A-Za-z0-9_-]*))?/g;
/** Where a step may use values of others; `inputs` and `when` are told apart. */
const VALUE_PARTS = [
  "dataset",
  "command",
  "environment",
  "image",
  "queue",
  "params",
  "each",
  "approval",
] as const;
const KINDS: readonly StepKind[] = ["dataset", "component", "command", "approval"];

export function readGraph(text: string): FlowGraph {
  const document = parsed(text);
  const value = (document.errors.length > 0 ? null : document.toJSON()) as Record<string, unknown> | null;
  const error = document.errors[0]?.message.split("\n")[0];
  const steps = Object.entries(mapping(value?.steps)).map(([name, step]) =>
    stepOf(name, mapping(step), mapping(value?.ui)[name]),
  );
  const known = new Set(steps.map((step) => step.name));
  const edges = steps.flatMap(edgesInto).filter((edge) => known.has(edge.from) && edge.from !== edge.to);
  const params = Object.fromEntries(
    Object.entries(mapping(value?.params)).map(([name, one]) => [name, mapping(one)]),
  );
  return { name: String(value?.name ?? ""), value: mapping(value), steps, edges, params, error };
}

function stepOf(name: string, value: Record<string, unknown>, at: unknown): FlowStep {
  const kind = KINDS.find((one) => one in value) ?? "command";
  const isPosition = Array.isArray(at) && at.length === 2 && at.every((one) => typeof one === "number");
  return { name, kind, value, ...(isPosition ? { position: at as [number, number] } : {}) };
}

function edgesInto({ name: to, value }: FlowStep): FlowEdge[] {
  const edges: FlowEdge[] = [];
  const add = (texts: unknown, kind: FlowEdge["kind"], input?: string) => {
    for (const found of (JSON.stringify(texts) ?? "").matchAll(REFERENCE)) {
      const [, from, all, output] = found;
      edges.push({ from: from as string, output, to, input, kind, all: all !== undefined });
    }
  };
  for (const [input, one] of Object.entries(mapping(value.inputs))) add(one, "data", input);
  for (const part of VALUE_PARTS) add(value[part], "value");
  add(value.when, "condition");
  for (const from of Array.isArray(value.after) ? value.after : []) {
    edges.push({ from: String(from), to, kind: "order", all: false });
  }
  return edges;
}

/** The steps that come after a step, however far, and the step itself: it can use nothing of theirs. */
export function laterSteps(graph: FlowGraph, name: string): Set<string> {
  const after = new Map<string, string[]>();
  for (const { from, to } of graph.edges) {
    const known = after.get(from);
    if (known) known.push(to);
    else after.set(from, [to]);
  }
  const found = new Set([name]);
  const waiting = [name];
  for (let step = waiting.pop(); step !== undefined; step = waiting.pop()) {
    for (const to of after.get(step) ?? []) {
      if (!found.has(to)) waiting.push(to);
      found.add(to);
    }
  }
  return found;
}

/** True if connecting the two would make a circle. */
export function wouldCircle(graph: FlowGraph, from: string, to: string): boolean {
  return laterSteps(graph, to).has(from);
}

function mapping(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
