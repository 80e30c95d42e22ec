/** Columns, order and conditions of the list of runs, as the filter language writes them. */
import type { Run, RunKeys } from "../../../api/shapes";
import { byName } from "../../../lib/metric";

export const METRIC_VALUES = ["last", "min", "max"] as const;
export type MetricValue = (typeof METRIC_VALUES)[number];

/** Of a run itself, with the words above their columns. */
export const ATTRIBUTES = {
  state: "State",
  experiment: "Experiment",
  user: "User",
  started_at: "Started",
  ended_at: "Ended",
  duration: "Duration",
  id: "Id",
  parent: "Parent",
} as const;
export type Attribute = keyof typeof ATTRIBUTES;

export type Field =
  | { readonly kind: "attributes"; readonly key: Attribute }
  | { readonly kind: "params" | "tags"; readonly key: string }
  | { readonly kind: "metrics"; readonly key: string; readonly value: MetricValue };

const PLAIN_KEY = /^[A-Za-z_][\w/-]*(\.[A-Za-z_][\w/-]*)*$/;
const PARTS = /(?:`[^`]*`|"[^"]*"|[^,`"])+/g;
const FIELD = /^(?:(min|max|last)\(\s*)?(params|metrics|tags)\.(?:`([^`]*)`|"([^"]*)"|([^\s`"()]+))\s*\)?$/;

export function writeField(field: Field): string {
  if (field.kind === "attributes") return field.key;
  const plain = `${field.kind}.${writeKey(field.key)}`;
  return field.kind === "metrics" && field.value !== "last" ? `${field.value}(${plain})` : plain;
}

/** In backticks where it would not be read as one word. */
export function writeKey(key: string): string {
  if (PLAIN_KEY.test(key)) return key;
  return key.includes("`") ? `"${key}"` : `\`${key}\``;
}

/** A text as conditions quote it. */
export function writeText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function readField(text: string): Field | null {
  const written = text.trim();
  if (written in ATTRIBUTES) return { kind: "attributes", key: written as Attribute };
  const match = FIELD.exec(written);
  if (!match) return null;
  const [, value = "last", kind, ticked, quoted, bare] = match;
  const key = ticked ?? quoted ?? bare ?? "";
  if (kind === "metrics") return { kind, key, value: value as MetricValue };
  return { kind: kind as "params" | "tags", key };
}

/** What cannot be read is left out: the address may have been typed. */
export function readFields(text: string): Field[] {
  const fields = (text.match(PARTS) ?? []).map(readField);
  return fields.filter((field) => field !== null);
}

export function writeFields(fields: readonly Field[]): string {
  return fields.map(writeField).join(", ");
}

/** The words above a column. */
export function titleOf(field: Field): string {
  return field.kind === "attributes" ? ATTRIBUTES[field.key] : field.key;
}

const FEW_PARAMS = 4;
const FEW_METRICS = 3;
/** Counters that are logged beside metrics. */
const COUNTERS = new Set(["epoch", "step", "iteration", "global_step"]);

/** What is shown while nobody has chosen: parameters that differ, and metrics that most runs have. */
export function defaultFields(keys: RunKeys | undefined): Field[] {
  const most = (some: RunKeys["params"]) => [...some].sort((a, b) => b.runs - a.runs || byName(a.key, b.key));
  const params = most((keys?.params ?? []).filter((param) => param.differs)).slice(0, FEW_PARAMS);
  const metrics = most((keys?.metrics ?? []).filter(({ key }) => !COUNTERS.has(key))).slice(0, FEW_METRICS);
  const attribute = (key: Attribute) => ({ kind: "attributes", key }) as const;
  return [
    attribute("state"),
    attribute("started_at"),
    attribute("duration"),
    ...metrics.map(({ key }) => ({ kind: "metrics", key, value: "last" }) as const),
    ...params.map(({ key }) => ({ kind: "params", key }) as const),
    ...((keys?.experiments.length ?? 0) > 1 ? [attribute("experiment")] : []),
    ...((keys?.users.length ?? 0) > 1 ? [attribute("user")] : []),
  ];
}

export interface Order {
  /** As it is written: `metrics.acc`. */
  readonly field: string;
  readonly descending: boolean;
}

const NEWEST: Order = { field: "started_at", descending: true };

/** The first key of an order; newest first without one. */
export function readOrder(text: string | undefined): Order {
  const first = text?.match(PARTS)?.[0]?.trim();
  if (!first) return NEWEST;
  const descending = /\sdesc$/i.test(first);
  return { field: first.replace(/\s(asc|desc)$/i, "").trim(), descending };
}

/** A click on a column sorts by it, a second one the other way round, a third one no longer. */
export function nextOrder(before: string | undefined, field: Field): string | undefined {
  const written = writeField(field);
  const order = readOrder(before);
  const downFirst = field.kind === "metrics" || ["started_at", "ended_at", "duration"].includes(field.key);
  if (order.field !== written || (!before && written !== NEWEST.field)) return inOrder(written, downFirst);
  if (order.descending === downFirst) return inOrder(written, !downFirst);
  return undefined;
}

function inOrder(field: string, descending: boolean): string | undefined {
  return field === NEWEST.field && descending ? undefined : `${field}${descending ? " desc" : ""}`;
}

/** Both conditions. */
export function bothOf(filter: string | undefined, condition: string): string {
  return filter ? `(${filter}) and ${condition}` : condition;
}

type Cell = string | number | null;

/** The value of a run as a table of numbers and texts has it. */
export function cellOf(run: Run, field: Field): Cell {
  if (field.kind === "attributes") return attributeOf(run, field.key);
  if (field.kind === "tags") return run.tags[field.key] ?? null;
  if (field.kind === "metrics") return run.summaries?.[field.key]?.[field.value] ?? null;
  return writeValue(run.params[field.key]);
}

export function writeValue(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  return typeof value === "number" || typeof value === "string" ? value : JSON.stringify(value);
}

function attributeOf(run: Run, key: Attribute): Cell {
  if (key === "duration") {
    return run.ended_at ? (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000 : null;
  }
  if (key === "user") return run.created_by;
  if (key === "state") return run.job_state ?? run.state;
  return run[key] ?? null;
}
