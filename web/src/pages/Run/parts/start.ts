import type { Run } from "../../../api/shapes";

const WAITING = new Set(["queued", "placed", "preparing", "preempted"]);

/** When the run began to run; nothing while its job waits. */
export function startOf(run: Run): string | null {
  return run.job_state && WAITING.has(run.job_state) ? null : run.started_at;
}
