/** Parameters, tags and metrics of compared runs by one name each, as the filter language writes them. */
import type { MetricSummary, Run } from "../../api/shapes";
import { byName } from "../../lib/metric";
import type { MetricValue } from "./tabs";

/** What is compared by its values: a run, or a trial of a search. */
export interface Valued extends Pick<Run, "id" | "project" | "name" | "params" | "tags"> {
  summaries?: Readonly<Record<string, Pick<MetricSummary, MetricValue>>> | null;
}

/** With the colour that every drawing gives it. */
export interface ComparedValues {
  readonly run: Valued;
  readonly color: string;
}

/** `params.lr`, `metrics.loss`, `tags.team`. */
export type FieldName = string;

export function fieldsOf(runs: readonly Valued[]): FieldName[] {
  const names = new Set<FieldName>();
  for (const run of runs) {
    for (const key of Object.keys(run.params)) names.add(`params.${key}`);
    for (const key of Object.keys(run.summaries ?? {})) names.add(`metrics.${key}`);
    for (const key of Object.keys(run.tags)) names.add(`tags.${key}`);
  }
  return [...names].sort(byName);
}

/** The value of a run; undefined for none. A metric that is not finite counts as none. */
export function fieldValue(
  run: Valued,
  field: FieldName,
  value: MetricValue = "last",
): string | number | undefined {
  const dot = field.indexOf(".");
  const [kind, key] = [field.slice(0, dot), field.slice(dot + 1)];
  if (kind === "metrics") {
    const found = run.summaries?.[key]?.[value];
    return typeof found === "number" ? found : undefined;
  }
  if (kind === "tags") return run.tags[key];
  const found = run.params[key];
  if (found === undefined || found === null) return undefined;
  return typeof found === "number" || typeof found === "string" ? found : JSON.stringify(found);
}

/** Numbers, also those that were given as texts; null if some run has a word there. */
export function numbersOf(
  runs: readonly Valued[],
  field: FieldName,
  value?: MetricValue,
): (number | null)[] | null {
  const found: (number | null)[] = [];
  for (const run of runs) {
    const one = fieldValue(run, field, value);
    const number = one === undefined || one === "" ? null : Number(one);
    if (number !== null && !Number.isFinite(number)) return null;
    found.push(number);
  }
  return found.some((one) => one !== null) ? found : null;
}

/** Fields in which the runs are not all alike. */
export function differing(runs: readonly Valued[], fields: readonly FieldName[]): FieldName[] {
  return fields.filter((field) => new Set(runs.map((run) => fieldValue(run, field))).size > 1);
}
