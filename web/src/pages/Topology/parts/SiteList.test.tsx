import { afterEach, expect, it } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { aTopology } from "../../../testing/topology";
import { SiteList } from "./SiteList";

afterEach(() => queries.clear());

it("shows and lets set what holds for a site where nothing stands yet", async () => {
  signInAs({ is_admin: true });
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
