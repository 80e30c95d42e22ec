import { expect, it } from "vitest";
import { concerns } from "./live";

const query = (...queryKey: unknown[]) => ({ queryKey });

it("makes stale what a topic speaks of, and nothing else", () => {
  expect(concerns("caches", query("commits", {}, "main"))).toBe(true);
  expect(concerns("caches", query("session"))).toBe(false);
  expect(concerns("jobs", query("jobs", "list", {}))).toBe(true);
  expect(concerns("computes", query("elastic"))).toBe(true);
  expect(concerns("run:r1", query("runs", "metrics", "r1", "default"))).toBe(true);
  expect(concerns("run:r1", query("runs", "metrics", "r2", "default"))).toBe(false);
  // Events about jobs come often: points of runs are not read again with each.
  expect(concerns("jobs", query("runs", "pages", {}))).toBe(true);
  expect(concerns("jobs", query("runs", "series", "r1", "default"))).toBe(false);
  expect(concerns("log:j1", query("log", {}, 0))).toBe(true);
});
