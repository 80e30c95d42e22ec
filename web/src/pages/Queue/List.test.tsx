import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../api/client";
import { aTemplate } from "../../testing/builders";
import { showPage, signInAs } from "../../testing/page";
import { answering } from "../../testing/server";
import { QueueList } from "./List";

const BURST = {
  name: "burst",
  description: "",
  templates: [
    { template: "gpu-real", patience_seconds: 600 },
    { template: "cloud", patience_seconds: 0 },
  ],
  created_at: "2026-11-15T12:00:00+00:00",
  created_by: "mary",
  changed_at: "2026-11-15T12:00:00+00:00",
  changed_by: "mary",
};

const TEMPLATES = { items: [aTemplate(), aTemplate({ name: "cloud" })], next: null };

beforeEach(() => signInAs({ is_admin: true }));

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows the order of templates and how long each is waited for", async () => {
  answering({ "GET /queues": { items: [BURST], next: null } });
  const page = await showPage(<QueueList />);
  const row = await page.findByRole("row", { name: /burst/ });
  expect(row.textContent).toContain("gpu-real wait 10 m→ cloud");
});

it("reorders the templates of a queue", async () => {
  const server = answering({
    "GET /queues": { items: [BURST], next: null },
    "GET /templates": TEMPLATES,
  });
  const page = await showPage(<QueueList />);
  await userEvent.click(await page.findByRole("button", { name: "Edit burst" }));
  await userEvent.click(await page.findByRole("button", { name: "Move cloud up" }));
  expect(page.getByText("mill queue update burst cloud gpu-real:10m")).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  const templates = BURST.templates.toReversed();
  expect(await server.changes()).toEqual([["PUT /queues/burst", { description: "", templates }]]);
});

it("says what is wrong before anything is sent", async () => {
  const server = answering({ "GET /queues": { items: [], next: null }, "GET /templates": TEMPLATES });
  const page = await showPage(<QueueList />);
  await page.findByText("mill queue create burst gpu-real:10m cloud");
  await userEvent.click(page.getAllByRole("button", { name: "New queue" })[0] as HTMLElement);
  await userEvent.type(await page.findByRole("textbox", { name: "Name" }), "burst");
  await userEvent.click(page.getByRole("button", { name: "Create" }));
  expect((await page.findByRole("alert")).textContent).toBe("Choose a template for each row.");
  expect(await server.changes()).toEqual([]);
});

it("offers no changes to people who are no site administrators", async () => {
  signInAs({ is_admin: false });
  answering({ "GET /queues": { items: [BURST], next: null } });
  const page = await showPage(<QueueList />);
  await page.findByRole("row", { name: /burst/ });
  expect(page.queryByRole("button", { name: "Edit burst" })).toBeNull();
  expect(page.queryByRole("button", { name: "New queue" })).toBeNull();
});
