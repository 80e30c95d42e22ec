/** Executions of steps, counted. */
import type { FlowStepRun } from "../../../api/shapes";

/** In the order in which the state of many is told: what needs a look comes first. */
const ORDER = [
  "failed",
  "running",
  "preparing",
  "placed",
  "queued",
  "preempted",
  "ready",
  "waiting",
  "cancelled",
  "skipped",
  "succeeded",
  "remembered",
];

export function byStep(steps: readonly FlowStepRun[]): Map<string, FlowStepRun[]> {
  const found = new Map<string, FlowStepRun[]>();
  for (const step of steps) found.set(step.name, [...(found.get(step.name) ?? []), step]);
  return found;
}

/** The state that stands for all executions of a step. */
export function stateOf(steps: readonly FlowStepRun[]): string {
  return ORDER.find((state) => steps.some((step) => step.state === state)) ?? "waiting";
}

/** `3 of 8 done` of a step that runs over a list. */
export function doneWords(steps: readonly FlowStepRun[]): string {
  if (steps.length < 2) return "";
  const done = steps.filter((step) => ["succeeded", "remembered", "skipped"].includes(step.state)).length;
  return `${done} of ${steps.length} done`;
}

export function isSettled(state: string): boolean {
  return ["succeeded", "remembered", "skipped", "failed", "cancelled"].includes(state);
}
