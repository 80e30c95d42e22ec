/** What may be given to an input: datasets, and outputs of other steps that fit and make no circle. */
import type { ComponentPort, LibraryComponent } from "../../../api/shapes";
import { type FlowGraph, type FlowStep, laterSteps } from "../../../lib/flow/graph";
import { fits } from "../../../lib/flow/types";
import { portsOf } from "./library";

export interface Choice {
  value: string;
  label: string;
}

export function inputChoices(
  graph: FlowGraph,
  library: readonly LibraryComponent[],
  to: FlowStep,
  port: Pick<ComponentPort, "type">,
  present: unknown,
): Choice[] {
  const choices: Choice[] = [];
  const later = laterSteps(graph, to.name);
  for (const from of graph.steps) {
    if (later.has(from.name)) continue;
    if (from.kind === "dataset") {
      choices.push({ value: `\${steps.${from.name}}`, label: from.name });
      continue;
    }
    for (const output of portsOf(from, library).outputs) {
      if (to.kind !== "command" && !fits(output.type, port.type)) continue;
      const all = from.value.each === undefined ? "" : "[*]";
      const value = `\${steps.${from.name}${all}.outputs.${output.name}}`;
      choices.push({ value, label: `${from.name}${all} → ${output.name}` });
    }
  }
  // What the file says stays a choice, whatever it is.
  if (typeof present === "string" && !choices.some(({ value }) => value === present)) {
    choices.push({ value: present, label: present });
  }
  return choices;
}
