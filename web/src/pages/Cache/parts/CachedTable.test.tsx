import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aCached } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { CachedTable } from "./CachedTable";

beforeEach(() => signInAs());

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const openMenu = async (page: Awaited<ReturnType<typeof showPage>>) =>
  userEvent.click(page.getByRole("button", { name: "More for digits on fast" }));

it("says who keeps a commit, what it shares and what clearing it frees", async () => {
  const since = "2026-11-15T12:00:00+00:00";
  const cached = aCached({
    pinned: true,
    pinned_by: "mary",
    kept_by: ["main"],
    freed_bytes: 1000,
    base: "5d3eca86fd21".padEnd(64, "0"),
    leased_by: [
      { job: "default/train", kind: "job", reason: "", since },
      { user: "dan", kind: "hold", reason: "figures", since, until: since },
    ],
  });
  const page = await showPage(<CachedTable cached={[cached]} />);
  const row = page.getByRole("row", { name: /digits/ }).textContent;
  for (const said of [
    "train",
    "held by dan",
    "figures",
    "pinned by mary",
    "main is kept here",
    "clearing it frees 1.0 kB",
    "shares files with 5d3eca86fd21",
    "never (pinned)",
  ]) {
    expect(row).toContain(said);
  }
});

it("tells the size of the files from what they take on the disk", async () => {
  const cached = aCached({ bytes: 8_800_000, allocated_bytes: 9_200_000, freed_bytes: 9_200_000 });
  const page = await showPage(<CachedTable cached={[cached]} />);
  expect(page.getByRole("cell", { name: "8.8 MB 9.2 MB on disk" })).toBeTruthy();
});

it("says of what is on its way that it does not go before it is there", async () => {
  const page = await showPage(<CachedTable cached={[aCached({ state: "filling", expires_at: null })]} />);
  expect(page.getByRole("row", { name: /digits/ }).textContent).toContain("not before it is there");
});

it("verifies through the menu", async () => {
  const server = answering({});
  const page = await showPage(<CachedTable cached={[aCached()]} />);
  await openMenu(page);
  await userEvent.click(await page.findByRole("menuitem", { name: "Verify and heal" }));
  expect(await server.changes()).toEqual([["POST /caches/c1/verify", null]]);
});

it("offers viewers nothing but the reasons", async () => {
  signInAs({}, "viewer");
  const page = await showPage(<CachedTable cached={[aCached()]} />);
  expect(page.queryByRole("button", { name: /^Clear/ })).toBeNull();
  await openMenu(page);
  expect(await page.findByRole("menuitem", { name: "Why is it here?" })).toBeTruthy();
  expect(page.queryByRole("menuitem", { name: "Verify and heal" })).toBeNull();
});

it("offers to release a hold to its holder only", async () => {
  const since = "2026-11-15T12:00:00+00:00";
  const held = (user: string) =>
    aCached({ leased_by: [{ user, kind: "hold", reason: "", since, until: since }] });
  const server = answering({});
  const mine = await showPage(<CachedTable cached={[held("mary")]} />);
  await openMenu(mine);
  await userEvent.click(await mine.findByRole("menuitem", { name: "Release my hold" }));
  expect(await server.changes()).toEqual([["DELETE /caches/c1/hold", null]]);
  mine.unmount();
  const others = await showPage(<CachedTable cached={[held("dan")]} />);
  await openMenu(others);
  await others.findByRole("menuitem", { name: "Verify and heal" });
  expect(others.queryByRole("menuitem", { name: "Release my hold" })).toBeNull();
});

it("offers to release others' holds to administrators of the project", async () => {
  const since = "2026-11-15T12:00:00+00:00";
  const cached = aCached({
    leased_by: [
      { user: "dan", kind: "hold", reason: "", since, until: since },
      { user: "eve", kind: "read", reason: "", since, until: since },
    ],
  });
  signInAs({}, "admin");
  const server = answering({});
  const page = await showPage(<CachedTable cached={[cached]} />);
  await openMenu(page);
  await userEvent.click(await page.findByRole("menuitem", { name: "Release the hold of dan" }));
  expect(await server.changes()).toEqual([["DELETE /caches/c1/hold?user=dan", null]]);
  expect(page.queryByRole("menuitem", { name: "Release the hold of eve" })).toBeNull();
});

it("explains why a commit is there, with the commands that change it", async () => {
  const cached = aCached();
  const on = {
    volume: "fast",
    site: "local",
    cached,
    evicted: null,
    refused: null,
    reasons: ["cached for 20 m, asked for by mary"],
  };
  answering({
    "GET /cache-why": {
      dataset: "default/digits",
      commit_id: cached.commit_id,
      reasons: ["it is cached on fast"],
      volumes: [on],
    },
  });
  const page = await showPage(<CachedTable cached={[cached]} />);
  await openMenu(page);
  await userEvent.click(await page.findByRole("menuitem", { name: "Why is it here?" }));
  expect(await page.findByText("cached for 20 m, asked for by mary")).toBeTruthy();
  expect(page.getByText("mill cache hold default/digits@3fa2c1000000 --on fast --for 8h")).toBeTruthy();
});
