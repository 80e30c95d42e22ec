import type { FlowRunSummary } from "../../../api/shapes";

const WORDS: Readonly<Record<string, string>> = {
  commit: "a commit",
  cron: "its schedule",
  webhook: "a webhook",
  flow: "another flow",
  backfill: "a backfill",
};

/** `ada`, or `its schedule, as ada`. */
export function startedBy(run: Pick<FlowRunSummary, "trigger" | "created_by">): string {
  const { type, by } = run.trigger;
  const who = by || run.created_by;
  return type === "manual" ? who : `${WORDS[type] ?? type} (${who})`;
}
