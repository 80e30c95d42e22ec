/** What an event makes stale: topics of the stream on one side, keys of queries on the other. */
import type { Query } from "@tanstack/react-query";
import { KeyedThrottle } from "../lib/throttle";
import { queries } from "./client";

/** Always streamed while a tab is visible; runs, logs and sources are added by their own pages. */
export const COMMON_TOPICS = ["datasets", "caches", "jobs", "computes"] as const;

const NOUNS: Record<string, readonly string[]> = {
  datasets: ["datasets", "commits", "commit", "diff", "home", "activity"],
  caches: [
    "caches",
    "volumes",
    "evictions",
    "commits",
    "commit",
    "datasets",
    "home",
    "activity",
    "summary",
    "topology",
    "plan",
    "why",
    "policies",
  ],
  jobs: [
    "jobs",
    "home",
    "activity",
    "computes",
    "elastic",
    "runs",
    "topology",
    "shares",
    "gpu-use",
    "pending",
    "projects",
  ],
  sources: ["sources", "connections"],
  mirrors: ["mirrors"],
  models: ["models"],
  endpoints: ["endpoints"],
  clusters: ["clusters"],
  workspaces: ["workspaces"],
  searches: ["searches"],
  computes: ["computes", "elastic", "topology", "home", "activity", "join-tokens", "shares", "gpu-use"],
};

/** What events about jobs change of runs. Points and comparisons of living runs are asked for by their own pages. */
const OF_RUNS: readonly unknown[] = ["pages", "groups", "count", "one", "nested"];

const throttle = new KeyedThrottle(500);

/** Reload what is shown of a topic, at most twice a second however many events come. */
export function refreshTopic(topic: string): void {
  throttle.call(topic, () => {
    void queries.invalidateQueries({ predicate: (query) => concerns(topic, query) });
  });
}

/** What was loaded so lately when a stream begins is hardly stale: it is loaded again when the page has come to rest. */
const LATELY_MS = 3_000;

/** Topics have begun to stream; what happened before is not known. */
export function refreshBegun(topics: readonly string[]): void {
  const begun = Date.now();
  const isOlder = (query: Query, than: number) =>
    query.state.dataUpdatedAt < than && topics.some((topic) => concerns(topic, query));
  const refresh = (than: number) =>
    void queries.invalidateQueries({
      predicate: (query) => query.state.data !== undefined && isOlder(query, than),
    });
  refresh(begun - LATELY_MS);
  // An answer that came a moment after the beginning may have been made before it.
  setTimeout(() => refresh(begun + 1_000), LATELY_MS);
}

export function refreshEverything(): void {
  throttle.call("*", () => void queries.invalidateQueries());
}

export function concerns(topic: string, query: Pick<Query, "queryKey">): boolean {
  const [noun, second, third] = query.queryKey;
  const [kind, id] = splitTopic(topic);
  if (kind === "run") return noun === "runs" && third === id;
  if (kind === "notifications") return noun === "notifications";
  if (kind === "flow-run") return noun === "flow-runs" || noun === "flows";
  // A job's log is asked for by name or id; only one is shown at a time.
  if (kind === "log") return noun === "log";
  if (topic === "jobs" && noun === "runs") return OF_RUNS.includes(second);
  return NOUNS[topic]?.includes(String(noun)) ?? false;
}

function splitTopic(topic: string): [string, string | undefined] {
  const colon = topic.indexOf(":");
  return colon < 0 ? [topic, undefined] : [topic.slice(0, colon), topic.slice(colon + 1)];
}
