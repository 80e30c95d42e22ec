/** An elastic compute while it is edited: what is sent, and the command line that does the same. */
import type { Elastic, ElasticPut } from "../../../api/shapes";
import { parseDuration, writeDuration } from "../../../lib/duration";
import { labelsOf, writeLabels } from "../../../lib/labels";
import { shellQuote } from "../../../lib/names";

export interface ElasticDraft {
  name: string;
  description: string;
  provisioner: string;
  site: string;
  /** Told to the provisioner: `KEY=VALUE` */
  options: string[];
  /** What a machine has. "" is 0. */
  gpus: number | string;
  cpus: number | string;
  memoryGb: number | string;
  gpuType: string;
  gpuMemoryGb: number | string;
  /** `KEY=VALUE` */
  labels: string[];
  driver: ElasticPut["driver"];
  pricePerHour: number | string;
  minimum: number | string;
  maximum: number | string;
  /** Durations, such as `10m`. */
  wait: string;
  idle: string;
  start: string;
  trustAll: boolean;
}

/** With the defaults of the command line. */
export const NEW_ELASTIC: ElasticDraft = {
  name: "",
  description: "",
  provisioner: "",
  site: "local",
  options: [],
  gpus: "",
  cpus: 1,
  memoryGb: "",
  gpuType: "",
  gpuMemoryGb: "",
  labels: [],
  driver: "process",
  pricePerHour: "",
  minimum: 0,
  maximum: 1,
  wait: "5s",
  idle: "10m",
  start: "15m",
  trustAll: false,
};

export function draftOf(elastic: Elastic): ElasticDraft {
  return {
    name: elastic.name,
    description: elastic.description,
    provisioner: elastic.provisioner,
    site: elastic.site,
    options: writeLabels(elastic.options),
    gpus: elastic.gpus || "",
    cpus: elastic.cpus,
    memoryGb: elastic.memory_bytes / 1e9 || "",
    gpuType: elastic.gpu_type,
    gpuMemoryGb: elastic.gpu_memory_bytes / 1e9 || "",
    labels: writeLabels(elastic.labels),
    driver: elastic.driver === "podman" ? "podman" : "process",
    pricePerHour: elastic.price_per_hour || "",
    minimum: elastic.minimum,
    maximum: elastic.maximum,
    wait: writeDuration(elastic.wait_seconds) || "0s",
    idle: writeDuration(elastic.idle_seconds) || "0s",
    start: writeDuration(elastic.start_seconds),
    trustAll: elastic.trust_all,
  };
}

export function requestOf(draft: ElasticDraft): ElasticPut {
  return {
    description: draft.description.trim(),
    provisioner: draft.provisioner.trim(),
    site: draft.site,
    options: labelsOf(draft.options),
    gpus: Number(draft.gpus),
    cpus: Number(draft.cpus),
    memory_bytes: Math.round(Number(draft.memoryGb) * 1e9),
    gpu_type: draft.gpuType.trim(),
    gpu_memory_bytes: Math.round(Number(draft.gpuMemoryGb) * 1e9),
    labels: labelsOf(draft.labels),
    driver: draft.driver,
    price_per_hour: Number(draft.pricePerHour),
    minimum: Number(draft.minimum),
    maximum: Number(draft.maximum),
    wait_seconds: parseDuration(draft.wait) ?? 0,
    idle_seconds: parseDuration(draft.idle) ?? 0,
    start_seconds: parseDuration(draft.start) ?? 0,
    trust_all: draft.trustAll,
  };
}

/** Each option of `mill elastic create|update` with the part of the draft it sets, and how it is written. */
const OPTIONS = [
  ["provisioner", "provisioner", String],
  ["site", "site", String],
  ["gpus", "gpus", whole],
  ["cpus", "cpus", whole],
  ["memory", "memoryGb", gigabytes],
  ["gpu-type", "gpuType", String],
  ["gpu-memory", "gpuMemoryGb", gigabytes],
  ["driver", "driver", String],
  ["price-per-hour", "pricePerHour", whole],
  ["min", "minimum", whole],
  ["max", "maximum", whole],
  ["wait", "wait", duration],
  ["idle", "idle", duration],
  ["start", "start", duration],
  ["description", "description", String],
] as const satisfies readonly (readonly [string, keyof ElasticDraft, (value: string | number) => string])[];

const MAPPINGS = [
  ["-o", "options"],
  ["--label", "labels"],
] as const;

/** `mill elastic create` or `update` with what differs from `before`; null if the command line cannot do it. */
export function commandLineOf(
  verb: "create" | "update",
  draft: ElasticDraft,
  before = NEW_ELASTIC,
): string | null {
  if (MAPPINGS.some(([, key]) => hasLost(draft[key], before[key]))) return null;
  const options = OPTIONS.flatMap(([option, key, write]) =>
    write(draft[key]) === write(before[key]) ? [] : [`--${option} ${shellQuote(write(draft[key]))}`],
  );
  const pairs = MAPPINGS.flatMap(([option, key]) =>
    draft[key].filter((pair) => !before[key].includes(pair)).map((pair) => `${option} ${shellQuote(pair)}`),
  );
  const trust = draft.trustAll === before.trustAll ? [] : [draft.trustAll ? "--trust-all" : "--no-trust-all"];
  const missing = draft.provisioner.trim() ? [] : ["--provisioner NAME"];
  return [
    `mill elastic ${verb} ${shellQuote(draft.name || "NAME")}`,
    ...missing,
    ...options.filter((option) => missing.length === 0 || !option.startsWith("--provisioner")),
    ...pairs,
    ...trust,
  ].join(" ");
}

/** True if a key is no longer there: `update` adds and changes pairs, and removes none. */
function hasLost(pairs: readonly string[], before: readonly string[]): boolean {
  const kept = labelsOf(pairs);
  return Object.keys(labelsOf(before)).some((key) => !(key in kept));
}

function whole(value: string | number): string {
  return String(Number(value));
}

function gigabytes(value: string | number): string {
  return `${Number(value)}GB`;
}

/** `600s` and `10m` are the same. */
function duration(value: string | number): string {
  return writeDuration(parseDuration(String(value)) ?? 0) || "0s";
}
