import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { LakeReplicas } from "./LakeReplicas";

const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("shows nothing to others where there is none", async () => {
  signInAs({ is_admin: false });
  vi.stubGlobal("fetch", async () => Response.json({ items: [] }));
  const page = await showPage(<LakeReplicas sites={["east"]} />);
  expect(page.queryByText("Replicas of the lake")).toBeNull();
});

it("adds a replica with a key of its own, which the command does not show", async () => {
  signInAs({ is_admin: true });
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () => Response.json({ items: [] }));
  const page = await showPage(<LakeReplicas sites={["east", "west"]} />);
  await userEvent.click(await page.findByRole("button", { name: "Add replica" }));
  await userEvent.type(await page.findByRole("textbox", { name: "Name" }), "virginia");
  await userEvent.type(page.getByRole("textbox", { name: "Place" }), "s3://lake-east/copy");
  expect(page.getByRole("button", { name: "Add" }).hasAttribute("disabled")).toBe(true);
  await userEvent.click(page.getByRole("combobox", { name: "Sites that read from it" }));
  await userEvent.click(await page.findByRole("option", { name: "east", hidden: true }));
  await userEvent.type(page.getByRole("textbox", { name: "Access key id" }), "AKIA1");
  await userEvent.type(page.getByLabelText("Secret of the key"), "hush");
  const command =
    "mill lake replica add virginia s3://lake-east/copy --site east --key-id AKIA1 --secret-file FILE";
  expect(page.getByText(command)).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Add" }));
  const request = fetched.mock.calls.map(([asked]) => asked).find((asked) => asked.method === "POST");
  expect(await request?.clone().json()).toEqual({
    name: "virginia",
    url: "s3://lake-east/copy",
    endpoint: null,
    region: null,
    sites: ["east"],
    credentials: { key_id: "AKIA1", secret: "hush" },
  });
});
