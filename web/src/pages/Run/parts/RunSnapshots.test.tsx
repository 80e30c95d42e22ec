import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aJob } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { RunSnapshots } from "./RunSnapshots";

const MOMENTS = { start: true, end: true, every_seconds: 0 };

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("restores the start of a run into a new workspace", async () => {
  const job = aJob({ snapshots: MOMENTS });
  const place = `/projects/${job.project}/runs/${job.run_id}`;
  const start = {
    workspace: "tusimple",
    number: 1,
    name: "snap-tusimple-train-start-2026-11-18-16-23-42",
    moment: "start",
    state: "kept",
    bytes: 1000,
    taken_at: "2026-11-18T16:23:43Z",
    problem: null,
  };
  const server = answering({
    [`GET ${place}/snapshots`]: { items: [start] },
    [`POST ${place}/restore`]: { name: "again" },
  });
  const page = await showPage(<RunSnapshots job={job} />);
  await page.findByText(`tusimple@${start.name}`);
  await userEvent.click(page.getByRole("button", { name: "Restore the start" }));
  const name = await page.findByLabelText(/Name of the new workspace/);
  await userEvent.clear(name);
  await userEvent.type(name, "again");
  await userEvent.click(page.getByRole("button", { name: "Create" }));
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([
      [`POST ${place}/restore`, { into: "again", workspace: "tusimple" }],
    ]),
  );
});

it("shows nothing for a job without snapshots", async () => {
  const page = await showPage(<RunSnapshots job={aJob({ snapshots: null })} />);
  expect(page.queryByText("Snapshots")).toBeNull();
});
