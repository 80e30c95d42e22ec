import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { Volume } from "../../../api/shapes";
import { aCommit, aVolume } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { CacheButton } from "./CacheButton";

const place = { project: "default", dataset: "digits" };
const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

async function show(volumes: Volume[], commit = aCommit()) {
  queries.setQueryData(["volumes"], { items: volumes, next: null });
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () =>
    Response.json({ started: true, cached: { volume: "fast" }, reasons: [] }),
  );
  return showPage(<CacheButton commit={commit} place={place} />);
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

it("asks which volume when there are several", async () => {
  signInAs();
  const page = await show([aVolume(), aVolume({ id: "v2", name: "slow" })]);
  await userEvent.click(page.getByRole("button", { name: "Cache" }));
  expect(await page.findByRole("menuitem", { name: /slow at local/ })).toBeTruthy();
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
