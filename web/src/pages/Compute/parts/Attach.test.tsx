import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { Attach } from "./Attach";
import { attachCommands } from "./words";

const TIME = "2026-11-15T12:00:00+00:00";
const token = {
  id: "t1",
  site: "berlin",
  created_by: "mary",
  created_at: TIME,
  expires_at: TIME,
  compute: null,
};

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows how an agent comes into a cluster", () => {
  const about = { site: "lab", name: "", server: "https://mill.example", driver: "kubernetes" };
  const shown = attachCommands({ ...about, image: "r.example/mill:1", mount: "/mill=host" }, "mill_join_x");
  expect(shown[1]).toContain("create secret generic millpond-join --from-literal=token=mill_join_x");
  expect(shown[2]).toBe(
    "mill compute attach kubernetes --no-token --url https://mill.example --site lab " +
      "--image r.example/mill:1 --mount /mill=host | kubectl apply -f -",
  );
});

it("shows the lines to paste, and says when the agent has come in", async () => {
  signInAs({ is_admin: true });
  const server = answering({
    "GET /sites": {
      items: [{ id: "s", name: "berlin", created_at: TIME, computes: 0, volumes: 0 }],
      next: null,
    },
    "POST /join-tokens": { ...token, used_at: null, secret: "mill_join_x" },
    "GET /join-tokens": { items: [{ ...token, used_at: TIME, compute: "gpu7" }], next: null },
  });
  const page = await showPage(<Attach onClose={() => {}} />);
  const make = await page.findByRole("button", { name: "Create join token" });
  await vi.waitFor(() => expect(make).toHaveProperty("disabled", false));
  await userEvent.type(page.getByLabelText("Name"), "gpu7");
  await userEvent.click(make);
  expect(await page.findByText(/mill agent .*--site berlin --node gpu7$/)).toBeTruthy();
  expect(page.getByText(/mill_join_x/)).toBeTruthy();
  expect(await page.findByText("gpu7")).toBeTruthy();
  expect(await server.changes()).toEqual([["POST /join-tokens", { site: "berlin", seconds: 3600 }]]);
});
