import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { Why } from "../../../api/shapes";
import { aJob } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { WhyWaiting } from "./WhyWaiting";

const JOB = aJob({ state: "queued", reasons: ["Submitted by mary.", "Waiting: no room is free."] });
const WHY: Why = {
  state: "queued",
  rule: "order",
  reasons: [
    "Submitted by mary.",
    "Preempted at 04:46:42 UTC for team-d/d-3: its project's quota covers it (claim).",
    "Waiting: 0 GPUs are free, it needs 2 GPUs.",
  ],
  blockers: [
    { id: "j9", job: "team-d/d-3", project: "team-d", gpus: 2, over_quota: false, ends_at: null },
    { id: null, job: null, project: null, gpus: 4, over_quota: true, ends_at: null },
  ],
  earliest_start: null,
  nominated_on: null,
  places: [],
};

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("says the rule, what the job waits for, and who holds it", async () => {
  answering({ "GET /projects/default/jobs/j1/why": WHY });
  const page = await showPage(<WhyWaiting job={JOB} />);
  await page.findByText("Rule: order");
  expect(page.getByText("0 GPUs are free, it needs 2 GPUs.")).toBeTruthy();
  expect(page.getByText(/Preempted at 04:46:42/)).toBeTruthy();
  expect(page.queryByText("Submitted by mary.")).toBeNull();
  expect(page.getByRole("link", { name: "team-d/d-3" })).toBeTruthy();
  expect(page.getByRole("row", { name: /a job of another project 4 over quota/ })).toBeTruthy();
  expect(page.getByText("mill why j1 --project default")).toBeTruthy();
});

it("says what the job itself tells until the answer is there", async () => {
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  const page = await showPage(<WhyWaiting job={JOB} />);
  expect(page.getByText("No room is free.")).toBeTruthy();
});
