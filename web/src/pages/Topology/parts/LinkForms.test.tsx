import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import { showPage, signInAs } from "../../../testing/page";
import { aLink } from "../../../testing/topology";
import { LinkActions, SetLinkButton } from "./LinkForms";

const fetched = vi.fn<(request: Request) => Promise<Response>>();

afterEach(() => {
  vi.unstubAllGlobals();
  queries.clear();
});

it("is for administrators only", async () => {
  signInAs({ is_admin: false });
  const page = await showPage(<SetLinkButton sites={["berlin"]} />);
  expect(page.queryByRole("button")).toBeNull();
});

it("sends what is said of a link, in the units of the wire", async () => {
  signInAs({ is_admin: true });
  vi.stubGlobal("fetch", fetched);
  fetched.mockImplementation(async () => Response.json(aLink("berlin", "lake")));
  const page = await showPage(<LinkActions link={aLink("berlin", "lake", { latency_ms: 2 })} />);
  await userEvent.click(page.getByRole("button", { name: "Change berlin – lake" }));
  await userEvent.type(await page.findByLabelText("Bandwidth (Gbit/s)"), "2.5");
  expect(page.getByText("mill link set berlin lake --bandwidth 2.5Gbit/s --latency 2ms")).toBeTruthy();
  await userEvent.click(page.getByRole("button", { name: "Set" }));
  const request = fetched.mock.calls.map(([asked]) => asked).find((asked) => asked.method === "PUT");
  expect(request?.url).toContain("/links/berlin/lake");
  expect(await request?.clone().json()).toEqual({
    bits_per_second: 2_500_000_000,
    latency_ms: 2,
    price_per_gb: null,
  });
});
