import type { JobState } from "../../../api/shapes";

export const JOB_STATES: JobState[] = [
  "queued",
  "placed",
  "preparing",
  "running",
  "preempted",
  "succeeded",
  "failed",
  "cancelled",
];
/** As `JobState.is_finished` of the server. */
export function isFinished(state: JobState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}
