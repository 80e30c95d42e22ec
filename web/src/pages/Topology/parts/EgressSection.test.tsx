import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { EgressSection } from "./EgressSection";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const NOTHING = { day: null, project: null, site: null, link: null, bytes: 0, money: 0 };

it("warns of a budget that is used up, and shows what came", async () => {
  signInAs();
  const budget = {
    project: "vision",
    bytes: null,
    money: 50,
    warn_percent: 80,
    used_bytes: 6e11,
    used_money: 52.1,
    percent: 104.2,
    level: "exceeded",
    text: "52.10 of 50.00 (104 %)",
    ends_at: "2026-12-01T00:00:00+00:00",
    set_by: "ada",
    set_at: "2026-11-01T00:00:00+00:00",
  };
  const report = { since: "2026-11-01", until: "2026-11-18", rows: [], total: NOTHING };
  vi.stubGlobal("fetch", async (request: Request) =>
    Response.json(request.url.includes("budgets") ? { items: [budget] } : report),
  );
  const page = await showPage(<EgressSection />);
  expect(
    await page.findByText("Monthly budget of project vision: 52.10 of 50.00 (104 %) used."),
  ).toBeTruthy();
  expect(page.getByText(/wait until the month ends/)).toBeTruthy();
  expect(await page.findByText("No bytes came over links since 2026-11-01.")).toBeTruthy();
  expect(page.getByRole("link", { name: "Download CSV" }).getAttribute("href")).toContain("/egress.csv");
});
