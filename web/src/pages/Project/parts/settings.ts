/** The settings of a project while they are edited: what is sent, and the command line that does the same. */
import type { Project, ProjectSettings } from "../../../api/shapes";
import { parseDuration, writeDuration } from "../../../lib/duration";
import { labelsOf, writeLabels } from "../../../lib/labels";
import { shellQuote } from "../../../lib/names";

export interface SettingsDraft {
  description: string;
  /** GPUs; "" is none. */
  quota: number | string;
  /** `POOL=GPUS` */
  poolQuotas: string[];
  /** "" follows the quota. */
  weight: number | string;
  /** "" is no limit. */
  limit: number | string;
  overQuota: boolean;
  /** `KEY=VALUE` */
  trainAffinity: string[];
  interactiveAffinity: string[];
  /** As the command line takes them: `12h`; "" is no limit. */
  interactiveTime: string;
  interactiveIdle: string;
  minRuntime: string;
}

export const NO_SETTINGS: SettingsDraft = {
  description: "",
  quota: "",
  poolQuotas: [],
  weight: "",
  limit: "",
  overQuota: true,
  trainAffinity: [],
  interactiveAffinity: [],
  interactiveTime: "",
  interactiveIdle: "",
  minRuntime: "",
};

export function settingsOf(project: Project): SettingsDraft {
  return {
    description: project.description,
    quota: project.quota || "",
    poolQuotas: Object.entries(project.pool_quotas ?? {}).map(([pool, gpus]) => `${pool}=${gpus}`),
    weight: project.own_weight ?? "",
    limit: project.limit ?? "",
    overQuota: project.over_quota ?? true,
    trainAffinity: writeLabels(project.train_affinity),
    interactiveAffinity: writeLabels(project.interactive_affinity),
    interactiveTime: writeDuration(project.interactive_time ?? 0),
    interactiveIdle: writeDuration(project.interactive_idle ?? 0),
    minRuntime: writeDuration(project.min_runtime ?? 0),
  };
}

export function requestOf(draft: SettingsDraft): ProjectSettings & { description: string } {
  const pools = Object.entries(labelsOf(draft.poolQuotas)).map(([pool, gpus]) => [pool, Number(gpus)]);
  return {
    description: draft.description.trim(),
    quota: Number(draft.quota),
    pool_quotas: Object.fromEntries(pools),
    weight: draft.weight === "" ? null : Number(draft.weight),
    limit: draft.limit === "" ? null : Number(draft.limit),
    over_quota: draft.overQuota,
    train_affinity: labelsOf(draft.trainAffinity),
    interactive_affinity: labelsOf(draft.interactiveAffinity),
    interactive_time: parseDuration(draft.interactiveTime) ?? 0,
    interactive_idle: parseDuration(draft.interactiveIdle) ?? 0,
    min_runtime: parseDuration(draft.minRuntime) ?? 0,
  };
}

/** `mill project create` or `update` with the options that differ from `before`. */
export function commandLineOf(
  verb: "create" | "update",
  name: string,
  draft: SettingsDraft,
  before: SettingsDraft = NO_SETTINGS,
): string {
  const changed = (key: keyof SettingsDraft) => JSON.stringify(draft[key]) !== JSON.stringify(before[key]);
  const option = (key: keyof SettingsDraft, flag: string, none: string) =>
    changed(key) ? `${flag} ${shellQuote(String(draft[key] === "" ? none : draft[key]))}` : "";
  const labels = (key: "trainAffinity" | "interactiveAffinity", flag: string) => {
    if (!changed(key)) return "";
    const given = draft[key].length ? draft[key] : ["none"];
    return given.map((label) => `${flag} ${shellQuote(label)}`).join(" ");
  };
  return [
    `mill project ${verb} ${shellQuote(name || "NAME")}`,
    changed("description") && `--description ${shellQuote(draft.description)}`,
    option("quota", "--quota", "0"),
    ...(changed("poolQuotas") ? draft.poolQuotas.map((quota) => `--quota ${shellQuote(quota)}`) : []),
    option("weight", "--weight", "none"),
    option("limit", "--limit", "none"),
    changed("overQuota") && (draft.overQuota ? "--over-quota" : "--no-over-quota"),
    labels("trainAffinity", "--train-affinity"),
    labels("interactiveAffinity", "--interactive-affinity"),
    option("interactiveTime", "--interactive-time", "0"),
    option("interactiveIdle", "--interactive-idle", "0"),
    option("minRuntime", "--min-runtime", "0"),
  ]
    .filter(Boolean)
    .join(" ");
}
