import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../../api/client";
import type { TreeEntry } from "../../../api/shapes";
import { aCommit } from "../../../testing/builders";
import { showPage, signInAs } from "../../../testing/page";
import { answering } from "../../../testing/server";
import { Directory } from "./Directory";
import { foldersFirst, isAlbum, neighbour } from "./order";

const place = { project: "default", dataset: "digits", ref: "main", path: "" };
const entry = (name: string, kind: TreeEntry["kind"] = "file", size = 10): TreeEntry => ({
  name,
  path: name,
  kind,
  size,
  files: 1,
  external: false,
});
const PICTURES = ["1.png", "2.png", "3.png", "4.jpg"].map((name) => entry(name));

beforeEach(() => window.localStorage.clear());
afterEach(() => queries.clear());

async function show(items: TreeEntry[], selected?: string) {
  signInAs();
  queries.setQueryData(["commit", { project: "default", dataset: "digits", ref: "main" }], aCommit());
  answering({
    [`GET /projects/default/datasets/digits/commits/${aCommit().id}/entries`]: { items, next: null },
  });
  const onShow = vi.fn();
  const page = await showPage(
    <Directory {...{ place, selected, onShow }} branch={null} from={undefined} onFrom={() => {}} />,
  );
  return { page, onShow };
}

it("puts folders before files and keeps the order otherwise", () => {
  const entries = [entry("a.txt"), entry("b", "directory"), entry("c.txt"), entry("d", "directory")];
  expect(foldersFirst(entries).map(({ name }) => name)).toEqual(["b", "d", "a.txt", "c.txt"]);
});

it("takes a folder of mostly images for an album", () => {
  expect(isAlbum([...PICTURES, entry("labels.csv"), entry("more", "directory")])).toBe(true);
  expect(isAlbum(PICTURES.slice(0, 3))).toBe(false);
  expect(isAlbum([...PICTURES, ..."abcd"].map((one) => (typeof one === "string" ? entry(one) : one)))).toBe(
    false,
  );
});

it("finds the file before and after, and stops at the ends", () => {
  const entries = [entry("sub", "directory"), ...PICTURES];
  expect(neighbour(entries, "1.png", 1)).toBe("2.png");
  expect(neighbour(entries, "1.png", -1)).toBeUndefined();
  expect(neighbour(entries, "4.jpg", 1)).toBeUndefined();
  expect(neighbour(entries, "gone", 1)).toBeUndefined();
});

it("shows images as thumbnails, loads them late, and remembers the list when chosen", async () => {
  const { page } = await show([...PICTURES, entry("huge.png", "file", 50_000_000)]);
  const grid = await page.findByRole("list", { name: "Images in digits" });
  const images = [...grid.querySelectorAll("img")];
  expect(images).toHaveLength(4);
  expect(images.every((image) => image.getAttribute("loading") === "lazy")).toBe(true);
  await userEvent.click(page.getByRole("button", { name: "Show images in the list" }));
  expect(page.queryByRole("list", { name: "Images in digits" })).toBeNull();
  expect(window.localStorage.getItem("millpond.files.view")).toBe("list");
});

it("moves through files with the arrow keys and closes with Escape", async () => {
  const { page, onShow } = await show(PICTURES, "2.png");
  await page.findByRole("list", { name: "Images in digits" });
  await userEvent.keyboard("{ArrowRight}");
  expect(onShow).toHaveBeenLastCalledWith("3.png");
  await userEvent.keyboard("{ArrowLeft}");
  expect(onShow).toHaveBeenLastCalledWith("1.png");
  await userEvent.keyboard("{Escape}");
  expect(onShow).toHaveBeenLastCalledWith(undefined);
});
