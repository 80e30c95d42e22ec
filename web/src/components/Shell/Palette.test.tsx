import { fireEvent, waitFor } from "@testing-library/react";
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
  const page = await showPage(<Palette />);
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
