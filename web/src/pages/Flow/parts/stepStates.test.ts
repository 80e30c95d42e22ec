import { expect, it } from "vitest";
import type { FlowStepRun } from "../../../api/shapes";
import { countStates, progressWords, spanOf, stateOf } from "./stepStates";

const step = (state: string, times: Partial<FlowStepRun> = {}) =>
  ({ name: "a", state, ...times }) as FlowStepRun;

it("tells of many executions by what needs a look first", () => {
  const steps = [step("succeeded"), step("failed"), step("succeeded"), step("remembered"), step("skipped")];
  expect(stateOf(steps)).toBe("failed");
  expect(countStates(steps)).toEqual([
    ["failed", 1],
    ["skipped", 1],
    ["succeeded", 2],
    ["remembered", 1],
  ]);
  expect(progressWords(steps)).toBe("3 of 5 steps done · 1 remembered · 1 failed · 1 skipped");
});

it("spans from the first beginning to the last end, and has no end while one goes on", () => {
  const one = step("succeeded", { ready_at: "2026-01-01T00:00:02Z", ended_at: "2026-01-01T00:00:05Z" });
  const other = step("running", { ready_at: "2026-01-01T00:00:01Z", ended_at: null });
  expect(spanOf([one, other])).toEqual(["2026-01-01T00:00:01Z", null]);
  expect(spanOf([one])).toEqual(["2026-01-01T00:00:02Z", "2026-01-01T00:00:05Z"]);
});
