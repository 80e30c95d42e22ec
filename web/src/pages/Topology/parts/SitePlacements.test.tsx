import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { showPage, signInAs } from "../../../testing/page";
import { aTopology } from "../../../testing/topology";
import { SitePlacements } from "./SitePlacements";

const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  fetched.mockReset();
});

async function show(seconds: number | null) {
  const [site] = aTopology(["lab"]).sites;
  if (!site) throw new Error("no site");
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () => Response.json(site));
  return showPage(<SitePlacements site={{ ...site, placement_seconds: seconds }} />);
}

const put = () => fetched.mock.calls.map(([request]) => request).find(({ method }) => method === "PUT");

it("sets how long jobs go on, and refuses what is no time", async () => {
  signInAs({ is_admin: true });
  const page = await show(null);
  await userEvent.click(page.getByRole("button", { name: "Set how long jobs go on at lab" }));
  const field = await page.findByRole("textbox", { name: "Jobs go on for" });
  await userEvent.type(field, "soon");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  expect(put()).toBeUndefined();
  await userEvent.clear(field);
  await userEvent.type(field, "24h");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  expect(await put()?.clone().json()).toEqual({ seconds: 86_400 });
});

it("tells everybody, and lets administrators alone change it", async () => {
  signInAs({ is_admin: false });
  const page = await show(86_400);
  expect(page.getByText("Jobs go on for 1 d without the server")).toBeTruthy();
  expect(page.queryByRole("button")).toBeNull();
});
