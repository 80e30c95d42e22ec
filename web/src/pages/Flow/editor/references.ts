/** What a step may refer to: parameters of the flow, values that earlier steps made, the keys it runs over. */
import type { LibraryComponent } from "../../../api/shapes";
import { type FlowGraph, type FlowStep, laterSteps } from "../../../lib/flow/graph";
import { fits, isValueType } from "../../../lib/flow/types";
import { object, portsOf } from "./library";

export interface Reference {
  /** Without `${` and `}`. */
  text: string;
  group: "Parameters of the flow" | "Runs over" | "Outputs of steps" | "Of the run";
  type: string;
}

/** `wanted`: only what fits this type; none for everything that is a value. */
export function referencesFor(
  graph: FlowGraph,
  library: readonly LibraryComponent[],
  step: FlowStep,
  wanted?: string,
): Reference[] {
  const found: Reference[] = [];
  for (const [name, param] of Object.entries(graph.params)) {
    found.push({
      text: `params.${name}`,
      group: "Parameters of the flow",
      type: String(param.type ?? "str"),
    });
  }
  for (const key of Object.keys(object(step.value.each))) {
    found.push({ text: `each.${key}`, group: "Runs over", type: "any" });
  }
  const later = laterSteps(graph, step.name);
  for (const from of graph.steps) {
    if (from.kind === "dataset" || later.has(from.name)) continue;
    const all = from.value.each === undefined ? "" : "[*]";
    for (const output of portsOf(from, library).outputs) {
      if (!isValueType(output.type)) continue;
      const type = all ? "list" : output.type;
      found.push({
        text: `steps.${from.name}${all}.outputs.${output.name}`,
        group: "Outputs of steps",
        type,
      });
    }
  }
  found.push({ text: "run.id", group: "Of the run", type: "str" });
  found.push({ text: "trigger.commit", group: "Of the run", type: "str" });
  return wanted ? found.filter((one) => one.type === "any" || fits(one.type, wanted)) : found;
}

/** Outputs that a flow may publish: files and directories. */
export function publishable(graph: FlowGraph, library: readonly LibraryComponent[]): string[] {
  return graph.steps.flatMap((step) =>
    step.kind === "dataset"
      ? []
      : portsOf(step, library)
          .outputs.filter((port) => !isValueType(port.type) && step.value.each === undefined)
          .map((port) => `\${steps.${step.name}.outputs.${port.name}}`),
  );
}
