/** A template while it is edited: what is sent, and the command line that does the same. */
import type { Template, TemplatePut } from "../../../api/shapes";
import { labelsOf, writeLabels } from "../../../lib/labels";
import { shellQuote } from "../../../lib/names";

export interface TemplateDraft {
  name: string;
  description: string;
  /** Null for any. */
  compute: string | null;
  /** "" leaves an amount to the job. */
  gpus: number | string;
  cpu: number | string;
  memoryGb: number | string;
  gpuType: string;
  minGpuMemoryGb: number | string;
  image: string;
  /** `KEY=VALUE` */
  nodeSelector: string[];
  options: string[];
  env: string[];
  pricePerHour: number | string;
}

export const NEW_TEMPLATE: TemplateDraft = {
  name: "",
  description: "",
  compute: null,
  gpus: "",
  cpu: "",
  memoryGb: "",
  gpuType: "",
  minGpuMemoryGb: "",
  image: "",
  nodeSelector: [],
  options: [],
  env: [],
  pricePerHour: "",
};

export function draftOf(template: Template): TemplateDraft {
  return {
    name: template.name,
    description: template.description,
    compute: template.compute,
    gpus: template.gpus || "",
    cpu: template.cpu || "",
    memoryGb: template.memory_bytes / 1e9 || "",
    gpuType: template.gpu_type ?? "",
    minGpuMemoryGb: template.min_gpu_memory_bytes / 1e9 || "",
    image: template.image ?? "",
    nodeSelector: writeLabels(template.node_selector),
    options: writeLabels(template.options),
    env: writeLabels(template.env),
    pricePerHour: template.price_per_hour || "",
  };
}

export function requestOf(draft: TemplateDraft): TemplatePut {
  return {
    description: draft.description.trim(),
    compute: draft.compute,
    gpus: Number(draft.gpus),
    cpu: Number(draft.cpu),
    memory_bytes: Math.round(Number(draft.memoryGb) * 1e9),
    gpu_type: draft.gpuType.trim() || null,
    min_gpu_memory_bytes: Math.round(Number(draft.minGpuMemoryGb) * 1e9),
    image: draft.image.trim() || null,
    node_selector: labelsOf(draft.nodeSelector),
    options: labelsOf(draft.options),
    env: labelsOf(draft.env),
    price_per_hour: Number(draft.pricePerHour),
  };
}

/** Each option of `mill template create|update` with the part of the draft it sets. */
const OPTIONS = [
  ["compute", "compute", ""],
  ["gpu", "gpus", ""],
  ["cpu", "cpu", ""],
  ["memory", "memoryGb", "GB"],
  ["gpu-type", "gpuType", ""],
  ["min-gpu-memory", "minGpuMemoryGb", "GB"],
  ["image", "image", ""],
  ["node-selector", "nodeSelector", ""],
  ["option", "options", ""],
  ["env", "env", ""],
  ["price-per-hour", "pricePerHour", ""],
  ["description", "description", ""],
] as const satisfies readonly (readonly [string, keyof TemplateDraft, string])[];

/** `mill template create` or `update` with the options that differ from `before`. */
export function commandLineOf(
  verb: "create" | "update",
  draft: TemplateDraft,
  before = NEW_TEMPLATE,
): string {
  const options = OPTIONS.flatMap(([option, key, unit]) => {
    if (JSON.stringify(draft[key]) === JSON.stringify(before[key])) return [];
    const values = [draft[key] ?? []].flat().filter((value) => value !== "");
    // What a mapping has lost is cleared; what it keeps is given again.
    const isMapping = Array.isArray(draft[key]);
    const lost = isMapping && [before[key]].flat().some((value) => !values.includes(value ?? ""));
    const clear = values.length === 0 || lost ? [`--clear ${option}`] : [];
    return [...clear, ...values.map((value) => `--${option} ${shellQuote(`${value}${unit}`)}`)];
  });
  return [`mill template ${verb} ${shellQuote(draft.name || "NAME")}`, ...options].join(" ");
}
