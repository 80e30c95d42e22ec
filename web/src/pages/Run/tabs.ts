/** The tabs of one run, and which of them it has. */
import type { Job, RunDetails } from "../../api/shapes";

export const RUN_TABS = ["overview", "metrics", "log", "system", "artifacts", "code", "lineage"] as const;

export type RunTab = (typeof RUN_TABS)[number];

export const RUN_TAB_LABELS: Readonly<Record<RunTab, string>> = {
  overview: "Overview",
  metrics: "Metrics",
  log: "Log",
  system: "System",
  artifacts: "Artifacts",
  code: "Code & data",
  lineage: "Lineage",
};

/** What the address says: a tab, and in it a folder and a file. */
export interface RunSearch {
  tab?: RunTab;
  path?: string;
  file?: string;
}

/** A run with the job it records; none if a script anywhere started it. */
export interface Recorded {
  run: RunDetails;
  job: Job | null;
}

/** Log and resource use come from the keeper of a job: a script's run has neither. */
export function tabsOf({ job }: Recorded): RunTab[] {
  return RUN_TABS.filter((tab) => job !== null || (tab !== "log" && tab !== "system"));
}

/** What is shown when the address names no tab: of a failed job its last lines. */
export function firstTab({ job }: Recorded): RunTab {
  return job?.state === "failed" && job.started_at ? "log" : "overview";
}
