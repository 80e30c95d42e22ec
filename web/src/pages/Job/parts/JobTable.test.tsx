import { Notifications } from "@mantine/notifications";
import { fireEvent } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { requestsFor } from "../../../api/jobs";
import { aJob } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
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

it("says how a job ended, how far it is, and which attempt this is", async () => {
  signInAs();
  const jobs = [
    aJob({ id: "a", state: "failed", ending: "oom", problem: "killed for using more than its memory" }),
    aJob({ id: "b", state: "running", progress: 0.4 }),
    aJob({ id: "c", state: "failed", ending: "exit", exit_code: 3 }),
    aJob({ id: "d", state: "running", attempt: 2 }),
  ];
  const page = await showPage(<JobTable jobs={jobs} label="Jobs" />);
  for (const words of ["out of memory", "40 %", "exit status 3", "attempt 2"]) {
    expect(page.getByText(words)).toBeTruthy();
  }
});

it("acts upon several at once", async () => {
  signInAs();
  const jobs = [
    aJob({ id: "a", written: "one" }),
    aJob({ id: "b", written: "two", state: "failed" }),
    aJob({ id: "c", written: "three" }),
  ];
  const page = await showPage(<JobTable jobs={jobs} label="Jobs" />);
  expect(page.queryByText("2 jobs chosen")).toBeNull();
  fireEvent.click(page.getByRole("checkbox", { name: "Choose one" }));
  fireEvent.click(page.getByRole("checkbox", { name: "Choose two" }));
  expect(page.getByText("2 jobs chosen")).toBeTruthy();
  expect(page.getByRole("button", { name: "Stop 1" })).toBeTruthy();
  expect(page.getByRole("button", { name: "Delete 2" })).toBeTruthy();
});

it("asks once for all that were chosen, and tells of those that could not be changed", async () => {
  signInAs();
  const jobs = [aJob({ id: "a", written: "one" }), aJob({ id: "b", written: "two" })];
  const server = answering({
    "POST /projects/default/jobs/stop": {
      items: [
        { asked: "a", job: jobs[0], code: null, problem: null, hint: null },
        { asked: "b", job: null, code: "not_found", problem: "There is no job 'b'.", hint: null },
      ],
    },
  });
  const page = await showPage(
    <>
      <Notifications />
      <JobTable jobs={jobs} label="Jobs" />
    </>,
  );
  fireEvent.click(page.getByRole("checkbox", { name: "Select all shown" }));
  fireEvent.click(page.getByRole("button", { name: "Stop 2" }));
  await page.findByText("There is no job 'b'.");
  expect(page.getByText("1 of 2 could not be changed.")).toBeTruthy();
  expect(await server.changes()).toEqual([["POST /projects/default/jobs/stop", { jobs: ["a", "b"] }]]);
  vi.unstubAllGlobals();
});

it("asks by project, and for many in parts", () => {
  const many = Array.from({ length: 250 }, (_, number) => aJob({ id: `j${number}` }));
  const asked = requestsFor([...many, aJob({ id: "x", project: "other" })]);
  expect(asked.map(({ project, ids }) => [project, ids.length])).toEqual([
    ["default", 200],
    ["default", 50],
    ["other", 1],
  ]);
});

it("chooses all that are shown, and none", async () => {
  signInAs();
  const jobs = [aJob({ id: "a", written: "one" }), aJob({ id: "b", written: "two", project: "of others" })];
  const page = await showPage(<JobTable jobs={jobs} label="Jobs" />);
  const all = page.getByRole("checkbox", { name: "Select all shown" });
  fireEvent.click(all);
  expect(page.getByText("1 job chosen")).toBeTruthy();
  fireEvent.click(all);
  expect(page.queryByText("1 job chosen")).toBeNull();
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
