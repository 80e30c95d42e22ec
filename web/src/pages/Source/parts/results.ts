import type { SourceResult } from "../../../api/shapes";
import { formatBytes } from "../../../lib/quantity";

/** What a run did, in a few words: `3 added, 1 removed · 290.2 MB`. */
export function describeResult(result: Omit<SourceResult, "commit_id">): string {
  const counts = [
    [result.added, "added"],
    [result.changed, "changed"],
    [result.removed, "removed"],
    [result.skipped_count ?? 0, "left out"],
  ] as const;
  const words = counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString("en")} ${word}`);
  return `${words.join(", ") || "nothing new"} · ${formatBytes(result.bytes)}`;
}
