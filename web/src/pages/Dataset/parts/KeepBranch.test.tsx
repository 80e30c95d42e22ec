import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aVolume } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { KeepBranch } from "./KeepBranch";

const place = { project: "default", dataset: "digits" };
const REFS = "GET /projects/default/datasets/digits/refs";
const VOLUMES = { "GET /volumes": { items: [aVolume()], next: null } };
const MAIN = { items: [{ name: "main", type: "branch", commit: "3fa2c1" }], next: null };

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("keeps a branch cached on the volume that is chosen", async () => {
  const server = answering({ ...VOLUMES, [REFS]: MAIN });
  const page = await showPage(<KeepBranch place={place} branch="main" />);
  await userEvent.click(await page.findByRole("button", { name: "Keep cached" }));
  await userEvent.click(await page.findByRole("menuitemcheckbox", { name: "fast" }));
  expect(await server.changes()).toEqual([
    ["POST /cache-policies", { project: "default", dataset: "digits@main", volume: "fast" }],
  ]);
});

it("says where a branch is kept, and ends that by a second click", async () => {
  const policy = { id: "p1", branch: "main", volume: "fast" };
  const server = answering({
    ...VOLUMES,
    [REFS]: MAIN,
    "GET /cache-policies": { items: [policy], next: null },
  });
  const page = await showPage(<KeepBranch place={place} branch="main" />);
  await userEvent.click(await page.findByRole("button", { name: "Kept on fast" }));
  await userEvent.click(await page.findByRole("menuitemcheckbox", { name: "fast", checked: true }));
  expect(await server.changes()).toEqual([["DELETE /cache-policies/p1", null]]);
});
