import type { CachedCommit } from "../../../api/shapes";

/** One word for how a cached commit is: also whether it waits, is held up, or cannot be reached now. */
export function shownState(cached: Pick<CachedCommit, "state" | "waiting" | "problem">) {
  if (cached.waiting) return "waiting";
  if (cached.state === "filling" && cached.problem) return "held up";
  if (cached.state === "ready" && cached.problem) return "away";
  return cached.state;
}
