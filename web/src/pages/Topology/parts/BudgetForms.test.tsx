import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { BudgetButton } from "./BudgetForms";
import { budgetOf } from "./budgets";

const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("is for administrators only", async () => {
  signInAs({ is_admin: false });
  const page = await showPage(<BudgetButton />);
  expect(page.queryByRole("button")).toBeNull();
});

it("sets a budget in bytes of all projects", async () => {
  signInAs({ is_admin: true });
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () => Response.json({ items: [] }));
  const page = await showPage(<BudgetButton />);
  await userEvent.click(page.getByRole("button", { name: "Set budget" }));
  await userEvent.type(await page.findByLabelText("Or bytes (GB)"), "5000");
  expect(page.getByText("mill egress budget set --bytes 5000GB")).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Set" }));
  const request = fetched.mock.calls.map(([asked]) => asked).find((asked) => asked.method === "PUT");
  expect(request?.url).not.toContain("project=");
  expect(await request?.clone().json()).toEqual({ bytes: 5e12, money: null, warn_percent: 80 });
});

it("takes money or bytes, not both and not neither", () => {
  const draft = { project: null, money: "", gigabytes: "", warn: 80 };
  expect(budgetOf(draft)).toBeNull();
  expect(budgetOf({ ...draft, money: 5, gigabytes: 5 })).toBeNull();
  expect(budgetOf({ ...draft, money: 5 })?.money).toBe(5);
});
