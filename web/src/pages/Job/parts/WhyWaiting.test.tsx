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
  places: [
    {
      place: "dgx",
      site: "lab",
      template: "gpu-real",
      wait_seconds: null,
      fill_seconds: 27,
      missing_bytes: 60_000_000,
      wait_cost: null,
      fill_cost: 0.004,
      compute_cost: 2.5,
      egress_cost: 0,
      score: null,
      chosen: false,
      note: "no GPUs are free",
    },
    {
      place: "cloud",
      site: "aws",
      template: null,
      wait_seconds: 0,
      fill_seconds: 0,
      missing_bytes: 0,
      wait_cost: 0,
      fill_cost: 0,
      compute_cost: 9,
      egress_cost: 0,
      score: 9,
      chosen: true,
      note: null,
    },
  ],
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
  const place = page.getByRole("row", { name: /dgx/ }).textContent;
  for (const said of [
    "dgx (gpu-real)",
    "no GPUs are free",
    "unknown",
    "60.0 MB in 27.0 s",
    "0.0040",
    "2.50",
  ]) {
    expect(place).toContain(said);
  }
  expect(page.getByText("mill why j1 --project default")).toBeTruthy();
});

it("says what the job itself tells until the answer is there", async () => {
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  const page = await showPage(<WhyWaiting job={JOB} />);
  expect(page.getByText("no room is free.")).toBeTruthy();
});
