import { expect, it } from "vitest";
import type { Run } from "../../../api/shapes";
import { startOf } from "./start";

const run = (job_state: Run["job_state"]) => ({ job_state, started_at: "2026-01-01T00:00:00Z" }) as Run;

it("has no start while its job waits", () => {
  expect(startOf(run("queued"))).toBeNull();
  expect(startOf(run("preparing"))).toBeNull();
  expect(startOf(run("running"))).toBe("2026-01-01T00:00:00Z");
  expect(startOf(run(null))).toBe("2026-01-01T00:00:00Z");
});
