import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { aTopology } from "../../../testing/topology";
import { SiteList } from "./SiteList";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows and lets set what holds for a site where nothing stands yet", async () => {
  signInAs({ is_admin: true });
  vi.stubGlobal("fetch", async () => Response.json({ items: [] }));
  const topology = aTopology(["berlin"]);
  const limit = {
    bits_per_second: 1e9,
    windows: [],
    text: "1 Gbit/s",
    in_force: "limited to 1 Gbit/s",
    until: null,
  };
  topology.sites = topology.sites.map((site) => ({ ...site, limit }));
  const page = await showPage(<SiteList topology={topology} />);
  expect(page.getByText("No volumes or computes yet.")).toBeTruthy();
  expect(page.getByText("Fills are limited to 1 Gbit/s")).toBeTruthy();
  expect(page.getByRole("button", { name: "Limit site berlin" })).toBeTruthy();
  expect(page.getByRole("button", { name: "Set the lake endpoint of berlin" })).toBeTruthy();
});

it("tells what a site with a replica cannot read", async () => {
  signInAs();
  const problem = "Cannot read replica virginia: timed out";
  vi.stubGlobal("fetch", async (request: Request) =>
    Response.json(
      request.url.includes("replicas")
        ? { items: [{ name: "virginia", sites: ["berlin"] }] }
        : { stores: [{ id: "r1", name: "replica virginia", problem, seen_at: null }] },
    ),
  );
  const page = await showPage(<SiteList topology={aTopology(["berlin"])} />);
  expect(await page.findByText(problem)).toBeTruthy();
});
