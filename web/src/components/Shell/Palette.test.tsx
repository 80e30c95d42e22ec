import { act, fireEvent, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { queries } from "../../api/client";
import { showPage, signInAs } from "../../testing/page";
import { Palette } from "./Palette";
import { palette } from "./paletteStore";

afterEach(() => {
  palette.close();
  vi.unstubAllGlobals();
  queries.clear();
});

it("keeps letters that are typed before its field has the focus", async () => {
  signInAs();
  vi.stubGlobal("fetch", async () => Response.json({ items: [], next: null }));
  const page = await showPage(<Palette showHelp={() => {}} />);
  const type = (key: string) => fireEvent.keyDown(document.body, { key });
  expect(type("x")).toBe(true);
  fireEvent.keyDown(document.body, { key: "k", code: "KeyK", ctrlKey: true });
  // Not handled by anything else, such as the page's own single keys.
  expect(["d", "a", "x", "Backspace", "t"].map(type)).toEqual([false, false, false, false, false]);
  const field = await page.findByRole("textbox", { name: "Search everything" });
  await waitFor(() => expect((field as HTMLInputElement).value).toBe("dat"));
  // What is typed into the field itself is the field's business.
  expect(fireEvent.keyDown(field, { key: "q" })).toBe(true);
  page.unmount();
});

const FOUND = {
  noun: "volume",
  id: "v1",
  name: "fast",
  match: "prefix",
  project: null,
  dataset: null,
  detail: "lab",
  at: null,
};

it("asks the server, and puts what begins with the words before commands", async () => {
  signInAs();
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(new URL(request.url).searchParams.get("q") ?? "");
    const part = { ...FOUND, id: "r1", noun: "run", name: "breakfast", match: "part", project: "vision" };
    return Response.json({ items: [FOUND, part] });
  });
  const page = await showPage(<Palette showHelp={() => {}} />);
  act(() => palette.open());
  const field = await page.findByRole("textbox", { name: "Search everything" });
  fireEvent.change(field, { target: { value: "fa" } });
  await waitFor(() => expect(page.getByText("Volume · lab")).toBeTruthy());
  expect(asked).toEqual(["fa"]);
  expect(page.getByText("Run in vision · lab")).toBeTruthy();
  page.unmount();
});

it("offers what can be done, by any of its words", async () => {
  signInAs();
  vi.stubGlobal("fetch", async () => Response.json({ items: [] }));
  const page = await showPage(<Palette showHelp={() => {}} />);
  act(() => palette.open());
  const field = await page.findByRole("textbox", { name: "Search everything" });
  fireEvent.change(field, { target: { value: "theme da" } });
  const action = await page.findByRole("button", { name: "Dark theme" });
  expect(action).toBeTruthy();
  expect(page.queryByText("Go to Caches")).toBeNull();
  page.unmount();
});
