import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aCompute, anElastic, anElasticNode } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { ElasticComputes, machineWords } from "./Elastic";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const SITES = { items: [{ id: "s1", name: "local" }], next: null };
const BURST = anElastic({
  maximum: 4,
  price_per_hour: 1.2,
  ready: 1,
  problem: "The quota of the cloud is used up.",
  retry_at: "2026-11-15T12:01:00+00:00",
  nodes: [
    anElasticNode({ name: "burst-1", compute: "a1", reason: "Job train waits for a GPU." }),
    anElasticNode({ name: "burst-0", state: "gone", reason: "Idle for 10m." }),
  ],
});
const list = (...items: unknown[]) => ({ "GET /elastic": { items, next: null }, "GET /sites": SITES });

it("counts machines by what they do", () => {
  expect(machineWords(anElastic())).toBe("0");
  expect(machineWords(anElastic({ ready: 2, deleting: 1 }))).toBe("3: 2 ready, 1 deleting");
});

it("shows each machine with its reason, those that are gone on demand", async () => {
  signInAs({ is_admin: false });
  answering({ ...list(BURST), "GET /computes": { items: [aCompute({ id: "a1", name: "burst-1" })] } });
  const page = await showPage(<ElasticComputes />);
  await page.findByText("Job train waits for a GPU.");
  const link = await page.findByRole("link", { name: "burst-1" });
  expect(link.getAttribute("href")).toBe("/compute/burst-1");
  page.getByText("The quota of the cloud is used up.");
  expect(page.queryByText("Idle for 10m.")).toBeNull();
  await userEvent.click(page.getByRole("button", { name: "Show 1 deleted machine" }));
  page.getByText("Idle for 10m.");
  expect(page.queryByRole("button", { name: "New elastic compute" })).toBeNull();
  expect(page.queryByRole("button", { name: "Edit burst" })).toBeNull();
});

it("creates the first one", async () => {
  signInAs({ is_admin: true });
  const server = answering({ ...list(), "POST /elastic": BURST });
  const page = await showPage(<ElasticComputes />);
  await page.findByText(/^No elastic computes yet/);
  await userEvent.click(page.getByRole("button", { name: "New elastic compute" }));
  await userEvent.type(await page.findByLabelText(/^Name/), "burst");
  await userEvent.type(page.getByLabelText(/^Provisioner/, { selector: "input" }), "aws");
  await userEvent.clear(page.getByLabelText(/^Delete when idle for/));
  await userEvent.type(page.getByLabelText(/^Delete when idle for/), "5m");
  page.getByText("mill elastic create burst --provisioner aws --idle 5m");
  await userEvent.click(page.getByRole("button", { name: "Create" }));
  await vi.waitFor(async () =>
    expect(await server.changes()).toMatchObject([
      ["POST /elastic", { name: "burst", provisioner: "aws", site: "local", idle_seconds: 300, maximum: 1 }],
    ]),
  );
});

it("changes the limits", async () => {
  signInAs({ is_admin: true });
  const server = answering({ ...list(BURST), "PUT /elastic/burst": BURST });
  const page = await showPage(<ElasticComputes />);
  await userEvent.click(await page.findByRole("button", { name: "Edit burst" }));
  await userEvent.clear(await page.findByLabelText(/^Max. machines/));
  await userEvent.type(page.getByLabelText(/^Max. machines/), "0");
  page.getByText("mill elastic update burst --max 0");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  await vi.waitFor(async () =>
    expect(await server.changes()).toMatchObject([
      ["PUT /elastic/burst", { maximum: 0, price_per_hour: 1.2 }],
    ]),
  );
});

it("removes one only once the name has been typed", async () => {
  signInAs({ is_admin: true });
  const server = answering({ ...list(BURST), "DELETE /elastic/burst": null });
  const page = await showPage(<ElasticComputes />);
  await userEvent.click(await page.findByRole("button", { name: "Remove burst" }));
  const button = await page.findByRole("button", { name: "Remove" });
  expect(button).toHaveProperty("disabled", true);
  await userEvent.type(page.getByLabelText("Type burst to confirm"), "burst");
  await userEvent.click(button);
  await vi.waitFor(async () => expect(await server.changes()).toEqual([["DELETE /elastic/burst", null]]));
});
