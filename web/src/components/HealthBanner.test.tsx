import { expect, it } from "vitest";
import { queries } from "../api/client";
import { healthQuery } from "../api/health";
import { showPage } from "../testing/page";
import { HealthBanner } from "./HealthBanner";

const AWAY = { name: "lake", ok: false, message: "The lake does not answer.", seconds: 5 };

function tell(status: "ready" | "degraded" | "unavailable", parts: (typeof AWAY)[]) {
  queries.setQueryData(healthQuery.queryKey, { status, is_stopping: false, parts });
}

it("names what is away", async () => {
  tell("degraded", [AWAY, { ...AWAY, name: "disk", ok: true, message: "The disk has room." }]);
  const page = await showPage(<HealthBanner />);
  expect(page.getByRole("alert").textContent).toContain("The server is degraded");
  expect(page.getByRole("alert").textContent).toContain(AWAY.message);
  expect(page.getByRole("alert").textContent).not.toContain("has room");
});

it("tells a server that can do nothing apart", async () => {
  tell("unavailable", [{ ...AWAY, name: "database", message: "The database does not answer." }]);
  const page = await showPage(<HealthBanner />);
  expect(page.getByRole("alert").textContent).toContain("The server is unavailable");
});

it("is silent where all is well", async () => {
  tell("ready", [{ ...AWAY, ok: true }]);
  const page = await showPage(<HealthBanner />);
  expect(page.queryByRole("alert")).toBeNull();
});
