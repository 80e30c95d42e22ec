import { expect, test } from "vitest";
import { inputRows, valueRows } from "./differences";

const commit = (letter: string) => letter.repeat(64);

test("a change says by how much numbers moved, and what came or went", () => {
  const found = valueRows(
    [
      { key: "acc", before: 0.9, after: 0.95, differs: true },
      { key: "loss", before: 0.2, after: null, differs: true },
      { key: "f1", before: null, after: "NaN", differs: true },
      { key: "lr", before: "0.1", after: "0.1", differs: false },
      { key: "opt", before: "sgd", after: "adam", differs: true },
    ],
    false,
  );
  expect(found.map((row) => [row.key, row.change])).toEqual([
    ["acc", "+0.05"],
    ["loss", "removed"],
    ["f1", "added"],
    ["opt", "changed"],
  ]);
});

test("equal values are shown when asked for", () => {
  const equal = [{ key: "lr", before: "0.1", after: "0.1", differs: false }];
  expect(valueRows(equal, true)).toHaveLength(1);
  expect(valueRows(equal, false)).toHaveLength(0);
});

test("data is compared dataset by dataset", () => {
  const before = [`vision/xray@${commit("a")}`, `vision/labels@${commit("b")}`];
  const after = [`vision/xray@${commit("c")}`, `vision/labels@${commit("b")}`];
  expect(inputRows(before, after, false)).toEqual([
    { key: "vision/xray", before: before[0], after: after[0], differs: true, change: "changed" },
  ]);
});
