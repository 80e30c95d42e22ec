import type { Attempt, Job, JobKind, JobState } from "../../../api/shapes";

export const JOB_KINDS: JobKind[] = ["training", "interactive", "step", "service", "environment"];

export const JOB_STATES: JobState[] = [
  "queued",
  "placed",
  "preparing",
  "running",
  "preempted",
  "suspended",
  "succeeded",
  "failed",
  "cancelled",
];

const ENDINGS: Record<string, string> = {
  oom: "out of memory",
  timeout: "time limit",
  stopped: "stopped",
  lost: "machine lost",
  expired: "lost contact",
  terminated: "stopped by its cluster",
  suspended: "suspended",
  problem: "could not start",
};

/** How an attempt ended, in a few words; null after success and while it has not. */
export function endingWords({ ending, exit_code, signal }: Job | Attempt): string | null {
  if (ending === "exit") return `exit status ${exit_code}`;
  if (ending === "signal") return `signal ${signal}`;
  return ending ? (ENDINGS[ending] ?? ending) : null;
}

/** How a part of a GPU is kept to where the job was placed. */
export function shareWords({ gpu_share }: Job): string | null {
  if (gpu_share === "accounted") return "accounted, not enforced";
  return gpu_share === "enforced" ? "enforced" : null;
}

/** As `JobState.is_finished` of the server. */
export function isFinished(state: JobState): boolean {
  return state === "succeeded" || state === "failed" || state === "cancelled";
}

/** How the server begins a reason to wait. */
export const WAITING = "Waiting: ";

/** What it waits for alone. It may begin with the name of a node, so it keeps its letters. */
export function withoutWaiting(reason: string): string {
  return reason.startsWith(WAITING) ? reason.slice(WAITING.length) : reason;
}

/** Of what it waits for, the first is what the server found wrong with the best place; otherwise what came last. */
export function mainReason({ reasons }: Job): string | undefined {
  const reason = reasons.find((one) => one.startsWith(WAITING)) ?? reasons.at(-1);
  return reason && withoutWaiting(reason);
}
