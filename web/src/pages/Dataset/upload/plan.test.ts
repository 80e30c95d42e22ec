import { expect, it } from "vitest";
import type { Item } from "../../../lib/upload/sending";
import { folderOf, messageFor, planUpload, uploadCommand } from "./plan";

const file = (path: string, content = "x"): Item => ({ path, file: new File([content], path) });
const folder = [file("images/a.png"), file("images/b/c.png"), { path: "images/empty", file: null }];

it("puts a folder under its name, or its content alone", () => {
  expect(folderOf(folder)).toBe("images");
  const kept = planUpload(folder, { into: "", keepFolder: true });
  expect(kept.items.map((item) => item.path)).toEqual(["images/a.png", "images/b/c.png", "images/empty"]);
  const bare = planUpload(folder, { into: "/train/ ", keepFolder: false });
  expect(bare.items.map((item) => item.path)).toEqual(["train/a.png", "train/b/c.png", "train/empty"]);
  expect(bare).toMatchObject({ files: 2, bytes: 2 });
});

it("knows no folder where files lie beside it", () => {
  expect(folderOf([...folder, file("readme")])).toBeNull();
  expect(folderOf([file("readme")])).toBeNull();
  expect(folderOf([])).toBeNull();
});

it("leaves out what no tree can hold, and says why", () => {
  const plan = planUpload([file("ok"), file("copy/.MILL/config.json"), file("x".repeat(256))], {
    into: "",
    keepFolder: true,
  });
  expect(plan.items.map((item) => item.path)).toEqual(["ok"]);
  expect(plan.refused.map((item) => item.why)).toEqual([
    "'.mill' holds the state of a working copy",
    "a name is longer than 255 bytes",
  ]);
  expect(planUpload([file("ok")], { into: "a/../b", keepFolder: true }).items).toEqual([]);
});

it("has a message and a command for everything", () => {
  expect(messageFor(folder, 2)).toBe("Upload of images (2 files)");
  expect(messageFor([file("a.csv")], 1)).toBe("Upload of a.csv");
  expect(messageFor([file("a"), file("b")], 2)).toBe("Upload of 2 files");
  const choice = { into: "", keepFolder: false };
  expect(uploadCommand("default/d@main", folder, choice)).toBe(
    "mill data clone default/d@main copy && cp -r images/. copy/ && cd copy && mill data sync",
  );
  expect(uploadCommand("default/d@main", [file("a b.csv")], { ...choice, into: "t" })).toBe(
    "mill data put 'a b.csv' default/d@main:t/",
  );
});
