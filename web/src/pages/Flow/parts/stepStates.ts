/** Executions of steps, counted. */
import type { FlowStepRun } from "../../../api/shapes";
import { plural } from "../../../lib/quantity";

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
  const done = steps.filter((step) => DONE.has(step.state)).length;
  return `${done} of ${steps.length} done`;
}

/** How many are in which state, what needs a look first. */
export function countStates(steps: readonly FlowStepRun[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { state } of steps) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
}

/** From the first that began to the last that ended; null while one goes on. */
export function spanOf(steps: readonly FlowStepRun[]): [string | null, string | null] {
  const starts = steps.flatMap((step) => step.ready_at ?? step.started_at ?? []).sort();
  const ends = steps.flatMap((step) => step.ended_at ?? []).sort();
  const isOver = steps.every((step) => step.ended_at);
  return [starts[0] ?? null, isOver ? (ends.at(-1) ?? null) : null];
}

/** `5 of 8 steps done · 3 remembered · 1 failed`. */
export function progressWords(steps: readonly FlowStepRun[]): string {
  const counts = new Map(countStates(steps));
  const remembered = counts.get("remembered") ?? 0;
  const done = (counts.get("succeeded") ?? 0) + remembered;
  const others = ["remembered", "failed", "skipped", "cancelled"].flatMap((state) =>
    counts.has(state) ? [`${counts.get(state)} ${state}`] : [],
  );
  return [`${done} of ${plural(steps.length, "step")} done`, ...others].join(" · ");
}

const DONE = new Set(["succeeded", "remembered", "skipped"]);
