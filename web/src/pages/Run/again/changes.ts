/** What somebody changes of a run before it is made again: as a request, and as a command line. */
import type { RerunAsked, RerunParam } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";

export interface Changes {
  name: string;
  experiment: string;
  /** A template or queue; null: as before. */
  on: string | null;
  /** Parameters by name, as text; those that were not touched are not in it. */
  params: Readonly<Record<string, string>>;
  /** Other refs of its datasets, by their written names. */
  data: Readonly<Record<string, string>>;
}

export const NO_CHANGES: Changes = { name: "", experiment: "", on: null, params: {}, data: {} };

/** A value as it stands in a field. */
export function writtenValue({ value }: Pick<RerunParam, "value">): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The changes with a parameter set; setting it to what it was is no change. */
export function withParam(changes: Changes, param: Pick<RerunParam, "key" | "value">, text: string): Changes {
  const { [param.key]: _, ...others } = changes.params;
  const params = text === writtenValue(param) ? others : { ...others, [param.key]: text };
  return { ...changes, params };
}

export function withData(changes: Changes, dataset: string, ref: string | null): Changes {
  const { [dataset]: _, ...others } = changes.data;
  return { ...changes, data: ref === null ? others : { ...others, [dataset]: ref } };
}

export function requestOf(changes: Changes): RerunAsked {
  return {
    params: { ...changes.params },
    data: dataOf(changes),
    ...(changes.on ? { on: changes.on } : {}),
    ...(changes.name.trim() ? { name: changes.name.trim() } : {}),
    ...(changes.experiment.trim() ? { experiment: changes.experiment.trim() } : {}),
  };
}

export function commandLineOf(run: string, project: string, changes: Changes): string {
  const { name, experiment, on } = changes;
  return [
    `mill rerun ${run} --project ${shellQuote(project)}`,
    ...Object.entries(changes.params).map(([key, value]) => `--set ${shellQuote(`${key}=${value}`)}`),
    ...dataOf(changes).map((written) => `--data ${shellQuote(written)}`),
    on && `--on ${shellQuote(on)}`,
    name.trim() && `--name ${shellQuote(name.trim())}`,
    experiment.trim() && `--experiment ${shellQuote(experiment.trim())}`,
  ]
    .filter(Boolean)
    .join(" ");
}

function dataOf({ data }: Changes): string[] {
  return Object.entries(data).map(([dataset, ref]) => `${dataset}@${ref}`);
}
