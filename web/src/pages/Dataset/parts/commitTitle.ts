import type { Commit } from "../../../api/shapes";

/** What people know a commit by: the jobs that ran it or made it, or its message. */
export function commitTitle(commit: Commit): string {
  const names = commit.jobs.map((job) => `${job.name}#${job.number}`);
  return names.join(", ") || commit.message || "(no message)";
}
