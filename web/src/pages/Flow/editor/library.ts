/** What the editor knows of components, and the ports that a step therefore has. */
import type { LibraryComponent, ComponentPort as Port } from "../../../api/shapes";
import type { FlowStep } from "../../../lib/flow/graph";

export interface Ports {
  inputs: readonly Port[];
  outputs: readonly Port[];
  /** True if the step takes inputs that nothing declares: a command. */
  isOpen: boolean;
}

/** The component of a step by what it writes: `split@1` is the newest version that begins so. */
export function componentOf(
  step: FlowStep,
  library: readonly LibraryComponent[],
): LibraryComponent | undefined {
  const [name, version = ""] = String(step.value.component ?? "").split("@");
  const wanted = version === "" ? [] : version.split(".");
  return library.find(
    (one) => one.name === name && wanted.every((part, index) => one.version.split(".")[index] === part),
  );
}

export function portsOf(step: FlowStep, library: readonly LibraryComponent[]): Ports {
  if (step.kind === "dataset") return { inputs: [], outputs: [port("", "dataset")], isOpen: false };
  if (step.kind === "approval") return { inputs: [], outputs: [], isOpen: false };
  const given = Object.keys(object(step.value.inputs)).map((name) => port(name, "directory"));
  const component = step.kind === "component" ? componentOf(step, library) : undefined;
  if (component) return { inputs: component.inputs, outputs: component.outputs, isOpen: false };
  const outputs = Object.entries(object(step.value.outputs)).map(([name, one]) =>
    port(name, String(object(one).type ?? "directory")),
  );
  return { inputs: given, outputs, isOpen: step.kind === "command" };
}

function port(name: string, type: string): Port {
  return { name, type, required: false, help: "" };
}

export function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
