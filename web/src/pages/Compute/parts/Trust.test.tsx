import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aCompute } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { Trust } from "./Trust";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

const shared = (projects: string[], all = false) => aCompute({ trust: { shared: true, all, projects } });
const known = { "GET /projects": { items: [{ name: "team-a" }, { name: "team-b" }], next: null } };

it("says nothing where projects isolated", async () => {
  signInAs({ is_admin: true });
  const page = await showPage(<Trust compute={aCompute()} />);
  expect(page.queryByText("Shared trust")).toBeNull();
});

it("says to everybody what shared trust means, and who is let in", async () => {
  signInAs({ is_admin: false });
  const page = await showPage(<Trust compute={shared(["team-a"])} />);
  expect(page.getByText("Shared trust")).toBeTruthy();
  expect(page.getByText("team-a")).toBeTruthy();
  expect(page.queryByRole("button")).toBeNull();
});

it("keeps a project out at once, since that can be taken back", async () => {
  signInAs({ is_admin: true });
  const server = answering({ ...known, "POST /computes/gpu7/distrust": shared([]) });
  const page = await showPage(<Trust compute={shared(["team-a"])} />);
  await userEvent.click(page.getByRole("button", { name: "Remove team-a" }));
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([
      ["POST /computes/gpu7/distrust", { projects: ["team-a"], all: false }],
    ]),
  );
});

it("lets every project in, and says so", async () => {
  signInAs({ is_admin: true });
  const server = answering({ ...known, "POST /computes/gpu7/trust": shared([], true) });
  const page = await showPage(<Trust compute={shared([])} />);
  await userEvent.click(page.getByRole("button", { name: "Allow all projects" }));
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([["POST /computes/gpu7/trust", { projects: [], all: true }]]),
  );
});
