import { expect, it } from "vitest";
import type { Happening } from "../../api/shapes";
import { datasetOf, endingOf, verbOf } from "./happenings";

const happened = (part: Partial<Happening>): Happening => ({
  at: "2026-11-16T12:00:00+00:00",
  actor: "ada",
  action: "dataset.commit",
  subject: "vision/xray",
  project: "vision",
  job_id: null,
  commit_id: null,
  reason: "",
  ...part,
});

it("says what somebody did, and how a job ended", () => {
  expect(verbOf(happened({}))).toBe("committed to");
  expect(verbOf(happened({ action: "volume.limit", subject: "nfs" }))).toBe("set a limit on the volume");
  expect(verbOf(happened({ action: "dataset.paint_over" }))).toBe("paint over (dataset)");
  expect(verbOf(happened({ action: "flow.disable-trigger" }))).toBe("disabled a trigger of");
  expect(endingOf(happened({ action: "job.failed" }))).toBe("failed");
  expect(endingOf(happened({ action: "job.stop" }))).toBeUndefined();
});

it("leads to the dataset it is about, and to none where it is about none", () => {
  expect(datasetOf(happened({}))).toEqual({ dataset: "xray", ref: undefined });
  const tagged = happened({ action: "tag.create", subject: "vision/xray@v1" });
  expect(datasetOf(tagged)).toEqual({ dataset: "xray", ref: "v1" });
  expect(datasetOf(happened({ action: "job.submit", subject: "vision/train" }))).toBeNull();
  expect(datasetOf(happened({ action: "volume.create", subject: "fast", project: null }))).toBeNull();
});
