import { expect, it } from "vitest";
import { aJob, aRun } from "../../testing/builders";
import { firstTab, tabsOf } from "./tabs";

it("offers a script's run no parts of a job", () => {
  expect(tabsOf({ run: aRun(), job: null })).toEqual(["overview", "metrics", "artifacts", "code", "lineage"]);
  expect(tabsOf({ run: aRun(), job: aJob() })).toContain("log");
});

it("opens a failed job on its log, unless it never began", () => {
  const run = aRun({ state: "failed" });
  expect(firstTab({ run, job: aJob({ state: "failed" }) })).toBe("log");
  expect(firstTab({ run, job: aJob({ state: "failed", started_at: null }) })).toBe("overview");
  expect(firstTab({ run, job: aJob({ state: "queued" }) })).toBe("overview");
  expect(firstTab({ run, job: null })).toBe("overview");
});
