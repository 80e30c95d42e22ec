import { afterEach, expect, it } from "vitest";
import { queries } from "../../../api/client";
import { aJob } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { JobTable } from "./JobTable";

afterEach(() => queries.clear());

it("says a state by its word, and why a job waits", async () => {
  signInAs();
  const job = aJob({ state: "queued", reasons: ["local has no free GPU"], gpu_hundredths: 50 });
  const page = await showPage(<JobTable jobs={[job]} label="Jobs" />);
  expect(page.getByText("queued")).toBeTruthy();
  expect(page.getByText("local has no free GPU")).toBeTruthy();
  expect(page.getByText("0.5")).toBeTruthy();
  expect(page.getByRole("button", { name: "Stop train" })).toBeTruthy();
});

it("offers to restore what is in the bin, and nothing to viewers", async () => {
  signInAs();
  const deleted = aJob({ state: "failed", deleted_at: "2026-11-15T12:00:00+00:00" });
  const page = await showPage(<JobTable jobs={[deleted]} label="Jobs" />);
  expect(page.getByRole("button", { name: "Restore train" })).toBeTruthy();
  page.unmount();
  signInAs({}, "viewer");
  const looking = await showPage(<JobTable jobs={[deleted]} label="Jobs" />);
  expect(looking.queryByRole("button", { name: /train/ })).toBeNull();
});
