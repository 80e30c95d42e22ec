/** What differs between two runs of a flow: parameters, versions, data, outputs, durations, metrics. */
import type { FlowRun, FlowStepRun } from "../../api/shapes";
import { secondsBetween } from "../../lib/time";
import { byStep, spanOf, stateOf } from "./parts/stepStates";

export interface Row {
  name: string;
  a: unknown;
  b: unknown;
  isSame: boolean;
}

export interface Durations {
  name: string;
  a: number | null;
  b: number | null;
}

export function rowsOf(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): Row[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names.map((name) => ({
    name,
    a: a[name],
    b: b[name],
    isSame: JSON.stringify(a[name]) === JSON.stringify(b[name]),
  }));
}

/** Component versions, or the digest of a command's code. */
export function componentsOf(run: FlowRun): Record<string, unknown> {
  return perStep(
    run,
    (step) => step.component ?? (step.digest ? `code ${step.digest.slice(0, 12)}` : undefined),
  );
}

/** The commits that dataset steps stood for. */
export function dataOf(run: FlowRun): Record<string, unknown> {
  return perStep(run, (step) => (step.kind === "dataset" ? Object.values(step.outputs ?? {})[0] : undefined));
}

/** `split.train`, `train[0].accuracy`. */
export function outputsOf(run: FlowRun): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const step of run.steps) {
    if (step.kind === "dataset") continue;
    const name = step.index === null ? step.name : `${step.name}[${step.index}]`;
    for (const [output, value] of Object.entries(step.outputs ?? {})) found[`${name}.${output}`] = value;
  }
  return found;
}

export function statesOf(run: FlowRun): Record<string, unknown> {
  return Object.fromEntries([...byStep(run.steps)].map(([name, steps]) => [name, stateOf(steps)]));
}

export function durationsOf(a: FlowRun, b: FlowRun): Durations[] {
  const [one, other] = [secondsOf(a), secondsOf(b)];
  return [...new Set([...one.keys(), ...other.keys()])].map((name) => ({
    name,
    a: one.get(name) ?? null,
    b: other.get(name) ?? null,
  }));
}

function secondsOf(run: FlowRun): Map<string, number> {
  const found = new Map<string, number>();
  for (const [name, steps] of byStep(run.steps)) {
    const [start, end] = spanOf(steps);
    if (start && end) found.set(name, secondsBetween(start, end, new Date(end)));
  }
  return found;
}

function perStep(run: FlowRun, pick: (step: FlowStepRun) => unknown): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const step of run.steps) {
    const value = pick(step);
    if (value !== undefined && value !== null) found[step.name] = value;
  }
  return found;
}
