import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { VolumePlan } from "../../../api/shapes";
import { showPage } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { Plan } from "./Plan";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const PLAN: VolumePlan = {
  volume: "fast",
  used_bytes: 3_000_000_000,
  usable_bytes: 4_000_000_000,
  foreign_bytes: null,
  high_bytes: 3_600_000_000,
  low_bytes: 3_000_000_000,
  goes: [],
  stays: [],
};

it("lists what goes in order with the reason, and counts what stays", async () => {
  const step = {
    cached_id: "c1",
    dataset: "default/digits",
    commit_id: "3fa2c1".padEnd(64, "0"),
    bytes: 1000,
  };
  const goes = [
    { ...step, at: "2026-11-15T12:00:00+00:00", cause: "idle" as const, reason: "unused for 1 d then" },
  ];
  const stays = [{ ...step, cached_id: "c2", at: null, cause: null, reason: "pinned by mary" }];
  answering({ "GET /cache-plan": { items: [{ ...PLAN, goes, stays }], next: null } });
  const page = await showPage(<Plan volume="fast" />);
  expect((await page.findByRole("listitem")).textContent).toContain("frees 1.0 kB");
  expect(page.getByText("1 commit stays on fast")).toBeTruthy();
  expect(page.getByText("mill cache plan --on fast")).toBeTruthy();
});

it("says so when nothing goes", async () => {
  answering({ "GET /cache-plan": { items: [PLAN], next: null } });
  const page = await showPage(<Plan />);
  expect(await page.findByText("No evictions planned.")).toBeTruthy();
  expect(page.getByRole("heading", { name: "fast" })).toBeTruthy();
});
