import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { aCompute } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { ComputeActions } from "./ComputeActions";

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("is for administrators only", async () => {
  signInAs({ is_admin: false });
  const page = await showPage(<ComputeActions compute={aCompute()} />);
  expect(page.queryByRole("button")).toBeNull();
});

it("cordons at once, since that can be taken back", async () => {
  signInAs({ is_admin: true });
  const server = answering({
    "POST /computes/gpu7/cordon": aCompute({ health: "draining", cordoned: true }),
  });
  const page = await showPage(<ComputeActions compute={aCompute()} />);
  await userEvent.click(page.getByRole("button", { name: "Actions" }));
  await userEvent.click(await page.findByText("Cordon: accept no new jobs"));
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([["POST /computes/gpu7/cordon", null]]),
  );
});

it("stops what runs only once the name has been typed", async () => {
  signInAs({ is_admin: true });
  const server = answering({ "POST /computes/gpu7/drain": aCompute() });
  const page = await showPage(<ComputeActions compute={aCompute()} />);
  await userEvent.click(page.getByRole("button", { name: "Actions" }));
  await userEvent.click(await page.findByText("Drain and stop running jobs…"));
  const button = await page.findByRole("button", { name: "Stop them" });
  expect(button).toHaveProperty("disabled", true);
  await userEvent.type(page.getByLabelText("Type gpu7 to confirm"), "gpu7");
  await userEvent.click(button);
  await vi.waitFor(async () =>
    expect(await server.changes()).toEqual([["POST /computes/gpu7/drain", { stop: true }]]),
  );
});
