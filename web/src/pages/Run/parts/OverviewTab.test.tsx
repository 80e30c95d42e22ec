import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aRun } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { OverviewTab } from "./OverviewTab";

const PLACE = "PATCH /projects/default/runs/r1";

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("adds and removes tags", async () => {
  const server = answering({ [PLACE]: aRun() });
  const page = await showPage(
    <OverviewTab run={aRun({ tags: { team: "vision", "git.commit": "c1" } })} job={null} />,
  );
  expect(page.queryByText("git.commit")).toBeNull();
  await userEvent.click(page.getByRole("button", { name: "Remove tag team" }));
  await userEvent.click(page.getByRole("button", { name: "Add a tag" }));
  await userEvent.type(page.getByLabelText("Tag"), "stage");
  await userEvent.type(page.getByLabelText("Value of the tag"), "try{Enter}");
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([
      [PLACE, { tags: { team: null } }],
      [PLACE, { tags: { stage: "try" } }],
    ]),
  );
});

it("shows the beginning of a long parameter, and all of it when asked", async () => {
  answering({ [PLACE]: aRun() });
  const long = "x".repeat(5000);
  const page = await showPage(<OverviewTab run={aRun({ params: { long, lr: 0.1 } })} job={null} />);
  expect(page.queryByText(long)).toBeNull();
  await userEvent.click(page.getByRole("button", { name: "Show all 5,000 characters" }));
  page.getByText(long);
});

it("edits notes in place, and shows them without running anything in them", async () => {
  const server = answering({ [PLACE]: aRun() });
  const notes =
    "**bold** <img src=x onerror=alert(1)> [click](javascript:alert(1)) ![pixel](https://evil.example/p.png)";
  const page = await showPage(<OverviewTab run={aRun({ notes })} job={null} />);
  await page.findByText("bold");
  expect(page.container.querySelector("img, a[href^='javascript']")).toBeNull();
  await userEvent.click(page.getByRole("button", { name: "Edit notes" }));
  await userEvent.clear(page.getByRole("textbox", { name: "Notes" }));
  await userEvent.type(page.getByRole("textbox", { name: "Notes" }), "works{Control>}{Enter}{/Control}");
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([[PLACE, { tags: {}, notes: "works" }]]),
  );
});

it("says what a parameter was before, and the extremes of a metric", async () => {
  answering({});
  const run = aRun({
    params: { lr: 0.1 },
    param_changes: { lr: [{ value: 0.5, until: "2026-11-15T12:00:00+00:00" }] },
    summaries: {
      loss: { last: "NaN", last_step: 9, min: 0.25, min_step: 7, max: "Infinity", max_step: 1, points: 10 },
    },
  });
  const page = await showPage(<OverviewTab run={run} job={null} />);
  expect(page.getByRole("row", { name: /lr 0.1 was 0.5 until/ })).toBeTruthy();
  expect(page.getByRole("row", { name: /loss NaN step 9 0.25 step 7 Infinity step 1 10/ })).toBeTruthy();
});

it("stays usable with a thousand parameters", async () => {
  answering({});
  const params = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, index]));
  const page = await showPage(<OverviewTab run={aRun({ params })} job={null} />);
  expect(page.getByRole("table", { name: "Parameters" }).querySelectorAll("tr").length).toBe(100);
  await userEvent.type(page.getByLabelText("Filter parameters"), "p99");
  expect(page.getByRole("table", { name: "Parameters" }).querySelectorAll("tr").length).toBe(11);
});
