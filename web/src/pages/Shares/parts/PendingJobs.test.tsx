import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { PendingJob } from "../../../api/shapes";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { PendingJobs } from "./PendingJobs";

const PENDING: PendingJob = {
  position: 2,
  id: "j1",
  job: "vision/train",
  project: "vision",
  gpus: 4,
  priority: 0,
  submitted_at: "2026-11-15T12:00:00+00:00",
  rule: "order",
  reason: "no room is free; other jobs go first.",
  expected_start: null,
};

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows the place in line and the reason, and nothing of projects one may not see", async () => {
  const others = { ...PENDING, position: 1, id: null, job: null, project: null };
  answering({ "GET /pending": { items: [others, PENDING], next: null } });
  const page = await showPage(<PendingJobs project={undefined} />);
  const [first, second] = (await page.findAllByRole("row")).slice(1);
  expect(first?.textContent).toContain("1of another project");
  expect(second?.textContent).toContain("no room is free; other jobs go first.");
  expect(page.getByRole("link", { name: "train" })).toBeTruthy();
  expect(page.getByText("mill pending -A")).toBeTruthy();
});

it("says that nothing waits", async () => {
  answering({ "GET /pending": { items: [], next: null } });
  const page = await showPage(<PendingJobs project="vision" />);
  expect(await page.findByText("No jobs are waiting.")).toBeTruthy();
  expect(page.getByText("mill pending -p vision")).toBeTruthy();
});
