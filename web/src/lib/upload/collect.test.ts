import { expect, it } from "vitest";
import { itemsOfDrop, itemsOfInput } from "./collect";

function chosen(name: string, path: string): File {
  const file = new File(["x"], name);
  Object.defineProperty(file, "webkitRelativePath", { value: path });
  return file;
}

it("takes paths of a chosen folder, and names that hold a backslash as they are", () => {
  const files = [chosen("a.txt", "pics/a.txt"), chosen("b \\ c", "pics/sub/b / c"), chosen("d.csv", "")];
  expect(itemsOfInput(files).map((item) => item.path)).toEqual(["d.csv", "pics/a.txt", "pics/sub/b \\ c"]);
});

/** A folder as a browser gives it: its names a few at a time, then none. */
function aFolder(fullPath: string, ...batches: unknown[][]) {
  return {
    isFile: false,
    fullPath,
    createReader: () => {
      const left = [...batches, []];
      return { readEntries: (take: (names: unknown[]) => void) => take(left.shift() ?? []) };
    },
  };
}

const aName = (fullPath: string) => ({
  isFile: true,
  fullPath,
  file: (take: (file: File) => void) => take(new File(["x"], fullPath)),
});

it("walks a dropped folder to its end and keeps what is empty", async () => {
  const folder = aFolder(
    "/pics",
    [aName("/pics/b"), aName("/pics/a")],
    [aFolder("/pics/none"), aFolder("/pics/sub", [aName("/pics/sub/c")])],
  );
  const loose = { kind: "file", webkitGetAsEntry: () => null, getAsFile: () => new File(["x"], "loose") };
  const text = { kind: "string", webkitGetAsEntry: () => null, getAsFile: () => null };
  const dropped = { items: [{ kind: "file", webkitGetAsEntry: () => folder }, loose, text] };
  const items = await itemsOfDrop(dropped as unknown as DataTransfer);
  expect(items.map((item) => [item.path, item.file !== null])).toEqual([
    ["pics/a", true],
    ["pics/b", true],
    ["pics/none", false],
    ["pics/sub/c", true],
    ["loose", true],
  ]);
});
