/** Whether two ports may be connected, in words where not. */

import type { LibraryComponent } from "../../../api/shapes";
import { type FlowGraph, wouldCircle } from "../../../lib/flow/graph";
import { fits } from "../../../lib/flow/types";
import { portsOf } from "./library";

/** Handles of a node: outputs and inputs by name; a dataset's only output has none. */
export const OUT = "out:";
export const IN = "in:";
/** Takes whatever a command is given under a new name. */
export const NEW_INPUT = "in:+";

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
  if (wouldCircle(graph, wanted.from, wanted.to)) return "A flow cannot run in a circle.";
  const output = portsOf(from, library).outputs.find((one) => one.name === wanted.output);
  const ports = portsOf(to, library);
  const input = ports.inputs.find((one) => one.name === wanted.input);
  if (!output || !(input || ports.isOpen)) return "This step has no such port.";
  const given = output.type === "dataset" ? "directory" : output.type;
  // A dataset may hold anything; what it is shows when the step reads it.
  if (!input || ports.isOpen || output.type === "dataset") return null;
  return fits(given, input.type) ? null : `${wanted.input} takes ${input.type}, not ${given}.`;
}

/** The name of a new input of a command: that of the output, or of the dataset step. */
export function inputName(wanted: Pick<Wanted, "from" | "output">): string {
  return (wanted.output || wanted.from).replaceAll("-", "_");
}
