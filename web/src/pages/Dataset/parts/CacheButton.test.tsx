import { Notifications, notifications } from "@mantine/notifications";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { Volume } from "../../../api/shapes";
import { aCommit, aVolume } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { aComputeAt, aTopology } from "../../../testing/topology";
import { CacheButton } from "./CacheButton";

const place = { project: "default", dataset: "digits" };
const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  notifications.clean();
  fetched.mockReset();
  queries.clear();
});

async function show(volumes: Volume[], commit = aCommit()) {
  queries.setQueryData(["volumes"], { items: volumes, next: null });
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () =>
    Response.json({ started: true, cached: { id: "c9", volume: "fast" }, reasons: [] }),
  );
  return showPage(
    <>
      <Notifications />
      <CacheButton commit={commit} place={place} />
    </>,
  );
}

const asked = () =>
  fetched.mock.calls.map(([request]) => request).find((request) => request.method === "POST");

it("caches by one click when there is one volume", async () => {
  signInAs();
  const page = await show([aVolume()]);
  await userEvent.click(page.getByRole("button", { name: "Cache" }));
  expect(await asked()?.clone().json()).toEqual({
    project: "default",
    dataset: `digits@${aCommit().id}`,
    volume: "fast",
  });
});

it("caches on the nearest of several by one click, which can be undone", async () => {
  signInAs();
  const page = await show([aVolume(), aVolume({ id: "v2", name: "slow" })]);
  await userEvent.click(page.getByRole("button", { name: "Cache" }));
  expect(await asked()?.clone().json()).toEqual({ project: "default", dataset: `digits@${aCommit().id}` });
  await userEvent.click(await page.findByRole("button", { name: "Undo" }));
  const undone = fetched.mock.calls.map(([request]) => request).find(({ method }) => method === "DELETE");
  expect(undone?.url).toMatch(/caches\/c9$/);
});

it("lets another volume be chosen by keyboard", async () => {
  signInAs();
  const page = await show([aVolume(), aVolume({ id: "v2", name: "slow" })]);
  await userEvent.tab();
  expect(document.activeElement).toBe(page.getByRole("button", { name: "Cache" }));
  await userEvent.tab();
  await userEvent.keyboard("{Enter}");
  (await page.findByRole("menuitem", { name: /slow at local/ })).focus();
  await userEvent.keyboard("{Enter}");
  expect(await asked()?.clone().json()).toMatchObject({ volume: "slow" });
});

it("asks which other volume when the nearest may have it", async () => {
  signInAs();
  const on = { cached_id: "c1", volume: "fast", state: "ready", done_bytes: 1, bytes: 1 };
  const others = ["slow", "third"].map((name) => aVolume({ id: name, name }));
  const page = await show([aVolume(), ...others], aCommit({ cached_on: [on] }));
  await userEvent.click(page.getByRole("button", { name: "Cache elsewhere" }));
  expect(await page.findByRole("menuitem", { name: /slow at local/ })).toBeTruthy();
  expect(page.queryByRole("menuitem", { name: /fast at local/ })).toBeNull();
});

it("offers the computes that a volume serves", async () => {
  signInAs();
  const computes = [aComputeAt("local", "gpu-cluster", ["slow"]), aComputeAt("oslo", "edge")];
  queries.setQueryData(["topology"], aTopology(["local", "oslo"], { computes }));
  const page = await show([aVolume(), aVolume({ id: "v2", name: "slow" })]);
  await userEvent.click(page.getByRole("button", { name: "Choose where to cache" }));
  expect(page.queryByRole("menuitem", { name: /edge/ })).toBeNull();
  await userEvent.click(await page.findByRole("menuitem", { name: "gpu-cluster, which uses slow" }));
  expect(await asked()?.clone().json()).toMatchObject({ near: "gpu-cluster" });
});

it("is gone where the commit is on every volume, and for those who may only look", async () => {
  signInAs();
  const on = { cached_id: "c1", volume: "fast", state: "ready", done_bytes: 1, bytes: 1 };
  const page = await show([aVolume()], aCommit({ cached_on: [on] }));
  expect(page.queryByRole("button")).toBeNull();
  page.unmount();
  signInAs({}, "viewer");
  const looking = await show([aVolume()]);
  expect(looking.queryByRole("button")).toBeNull();
});

it("never offers a volume that is away", async () => {
  signInAs();
  const away = aVolume({ id: "v2", name: "slow", connected: false });
  const both = await show([aVolume(), away]);
  expect(both.getByRole("button", { name: "Cache on fast" })).toBeTruthy();
  both.unmount();
  const none = await show([away]);
  const button = none.getByRole("button", { name: "Cache" });
  expect(button.getAttribute("aria-disabled")).toBe("true");
  await userEvent.click(button);
  expect(asked()).toBeUndefined();
});
