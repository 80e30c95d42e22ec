/** Whether two ports may be connected, in words where not. */

import type { LibraryComponent } from "../../../api/shapes";
import { type FlowGraph, wouldCircle } from "../../../lib/flow/graph";
import { fits, isValueType } from "../../../lib/flow/types";
import { object, portsOf } from "./library";

/** Handles of a node: outputs and inputs by name; a dataset's only output has none. */
export const OUT = "out:";
export const IN = "in:";
/** Takes whatever a command is given under a new name. */
export const NEW_INPUT = "in:+";
/** Order without data, and values that are used in parameters and conditions. */
export const BEFORE = "order-in";
export const AFTER = "order-out";

export interface Wanted {
  from: string;
  output: string;
  to: string;
  input: string;
}

/** Why the connection cannot be made; null if it can. */
export function whyNot(
  graph: FlowGraph,
  library: readonly LibraryComponent[],
  wanted: Wanted,
): string | null {
  const from = graph.steps.find((step) => step.name === wanted.from);
  const to = graph.steps.find((step) => step.name === wanted.to);
  if (!from || !to) return "This step no longer exists.";
  if (from === to) return "A step cannot use its own output.";
  if (wouldCircle(graph, wanted.from, wanted.to))
    return `${wanted.from} already comes after ${wanted.to}: a flow cannot run in a circle.`;
  const output = portsOf(from, library).outputs.find((one) => one.name === wanted.output);
  const ports = portsOf(to, library);
  const input = ports.inputs.find((one) => one.name === wanted.input);
  if (!output || !(input || ports.isOpen)) return "This step has no such port.";
  if (isValueType(output.type))
    return `${wanted.output} is a value (${output.type}), not files. Use it in a parameter or a condition: \${steps.${wanted.from}.outputs.${wanted.output}}`;
  // A dataset may hold anything; what it is shows when the step reads it.
  if (!input || ports.isOpen || output.type === "dataset") return null;
  if (fits(output.type, input.type)) return null;
  return `${wanted.to} takes ${article(input.type)} as ${wanted.input}; ${wanted.output} of ${wanted.from} is ${article(output.type)}.`;
}

/** Why one step cannot be ordered after another; null if it can. */
export function whyNotAfter(graph: FlowGraph, from: string, to: string): string | null {
  if (from === to) return "A step cannot come after itself.";
  if (graph.steps.find((step) => step.name === to)?.kind === "dataset") return "A dataset waits for nothing.";
  return wouldCircle(graph, from, to)
    ? `${from} already comes after ${to}: a flow cannot run in a circle.`
    : null;
}

/** The input that an output goes to when it is dropped on a step: the first that fits and is free. */
export function inputFor(
  graph: FlowGraph,
  library: readonly LibraryComponent[],
  wanted: Omit<Wanted, "input">,
): string | null {
  const to = graph.steps.find((step) => step.name === wanted.to);
  if (!to) return null;
  const ports = portsOf(to, library);
  if (ports.isOpen) return inputName(wanted, Object.keys(object(to.value.inputs)));
  const taken = object(to.value.inputs);
  const fitting = ports.inputs.filter(
    (one) => whyNot(graph, library, { ...wanted, input: one.name }) === null,
  );
  return (
    (fitting.find((one) => taken[one.name] === undefined) ?? fitting[0] ?? ports.inputs[0])?.name ?? null
  );
}

/** The name of a new input of a command: that of the output, or of the dataset step. */
export function inputName(wanted: Pick<Wanted, "from" | "output">, taken: readonly string[] = []): string {
  const word = (wanted.output || wanted.from).replaceAll("-", "_");
  let name = word;
  for (let number = 2; taken.includes(name); number++) name = `${word}_${number}`;
  return name;
}

function article(type: string): string {
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}
