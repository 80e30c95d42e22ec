import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../api/client";
import { aProject } from "../../testing/builders";
import { showPage, signInAs } from "../../testing/page";
import { answering } from "../../testing/server";
import { ProjectList } from "./List";

const VISION = aProject({
  quota: 4,
  weight: 4,
  share: 6,
  allocated: 2,
  pending_gpus: 4,
  pending_jobs: 2,
  train_affinity: { gpu: "a100" },
});

beforeEach(() => signInAs({ is_admin: true }));

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows what a project is guaranteed, has and waits for", async () => {
  answering({ "GET /projects": { items: [VISION], next: null }, "GET /computes": { items: [], next: null } });
  const page = await showPage(<ProjectList />);
  const cells = (await page.findByRole("row", { name: /vision/ })).querySelectorAll("td");
  const said = [...cells].map((cell) => cell.textContent);
  expect(said.slice(1, 11)).toEqual([
    "admin",
    "4",
    "4",
    "none",
    "yes",
    "6",
    "2",
    "4 in 2 jobs",
    "gpu=a100",
    "any",
  ]);
});

it("changes settings and shows the command that does the same", async () => {
  const server = answering({
    "GET /projects": { items: [VISION], next: null },
    "GET /computes": { items: [], next: null },
    "PATCH /projects/vision": VISION,
  });
  const page = await showPage(<ProjectList />);
  await userEvent.click(await page.findByRole("button", { name: "Edit vision" }));
  await userEvent.type(await page.findByLabelText("Limit (GPUs)"), "8");
  await userEvent.type(page.getByLabelText("Interactive time limit"), "12h");
  expect(page.getByText("mill project update vision --limit 8 --interactive-time 12h")).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  const [[asked, body] = []] = await server.changes();
  expect(asked).toBe("PATCH /projects/vision");
  expect(body).toMatchObject({ quota: 4, limit: 8, interactive_time: 43_200, weight: null });
});

it("refuses a time without a unit before it is sent", async () => {
  const server = answering({
    "GET /projects": { items: [VISION], next: null },
    "GET /computes": { items: [], next: null },
  });
  const page = await showPage(<ProjectList />);
  await userEvent.click(await page.findByRole("button", { name: "Edit vision" }));
  await userEvent.type(await page.findByLabelText("Minimum runtime"), "10");
  await userEvent.click(page.getByRole("button", { name: "Save" }));
  expect(await page.findByText("Write it as 90s, 15m, 8h or 1d.")).toBeTruthy();
  expect(await server.changes()).toEqual([]);
});
