import { expect, it } from "vitest";
import type { Series } from "../../../api/shapes";
import { type ChartRun, dashOf, grouped, sourcesOf, stepsIn } from "./curvesOf";

const runs: ChartRun[] = [
  { id: "a", name: "first", color: "red", begin: 0, group: "0.1" },
  { id: "b", name: "second", color: "blue", begin: 0, group: "0.1" },
];
const drawn = { axis: "step", smooth: 0, epochs: new Map() } as const;

function aSeries(run: string, key: string, values: Series["values"]): Series {
  const steps = values.map((_, step) => step * 10);
  return { run, key, steps, values, times: steps, total: values.length };
}

it("names lines by what tells them apart", () => {
  const items = [aSeries("a", "loss", [1, "NaN", 3]), aSeries("b", "val_loss", [1])];
  const [first, second] = sourcesOf(items, ["loss", "val_loss"], runs, drawn);
  expect([first?.curve.label, second?.curve.label]).toEqual(["first · loss", "second · val_loss"]);
  expect(first?.curve.y).toEqual([1, null, 3]);
  const [alone] = sourcesOf(items, ["loss", "val_loss"], runs.slice(0, 1), drawn);
  expect(alone?.curve.label).toBe("loss");
});

it("draws training data in full, validation dashed, test dotted", () => {
  const keys = ["train_loss", "val_loss", "test_loss"];
  expect(keys.map((key) => dashOf(key, keys))).toEqual([[], [6, 4], [2, 3]]);
  expect(dashOf("val_loss", ["val_loss"])).toEqual([]);
});

it("makes one line of a group, and asks for the steps of a stretch", () => {
  const items = [aSeries("a", "loss", [1, 2, 3]), aSeries("b", "loss", [3, 4, 5])];
  const sources = sourcesOf(items, ["loss"], runs, drawn);
  const [line] = grouped(sources, ["loss"], runs);
  expect([line?.label, line?.y]).toEqual(["0.1 (2)", [2, 3, 4]]);
  expect(stepsIn(sources, [5, 12])).toEqual([0, 20]);
  expect(stepsIn([], [0, 1])).toBeNull();
});
