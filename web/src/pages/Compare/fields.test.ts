import { expect, it } from "vitest";
import { readImage } from "../../api/artifacts";
import type { Schemas } from "../../api/shapes";
import { aRun } from "../../testing/builders";
import { differing, fieldsOf, fieldValue, numbersOf } from "./fields";
import { atStep } from "./parts/ImagesTab";
import { usualFields } from "./parts/ScatterTab";
import { rowsOf } from "./parts/ValuesTab";
import { idsOf, readCompareSearch } from "./tabs";

function summary(last: number | "NaN"): Schemas["MetricSummary"] {
  return { points: 3, last, last_step: 2, min: 0, min_step: 0, max: 9, max_step: 1 };
}

const first = aRun({
  id: "a",
  params: { lr: "0.1", deep: { x: 1 }, same: 1 },
  summaries: { val_loss: summary(1) },
});
const second = aRun({
  id: "b",
  params: { lr: 0.2, same: 1 },
  tags: { team: "x" },
  summaries: { val_loss: summary("NaN") },
});
const runs = [first, second];

it("knows the values of runs by field", () => {
  expect(fieldsOf(runs)).toEqual([
    "metrics.val_loss",
    "params.deep",
    "params.lr",
    "params.same",
    "tags.team",
  ]);
  expect(fieldValue(first, "params.deep")).toBe('{"x":1}');
  expect(fieldValue(first, "metrics.val_loss", "max")).toBe(9);
  expect(fieldValue(second, "metrics.val_loss")).toBeUndefined();
  expect(numbersOf(runs, "params.lr")).toEqual([0.1, 0.2]);
  expect(numbersOf(runs, "tags.team")).toBeNull();
  expect(differing(runs, fieldsOf(runs))).not.toContain("params.same");
});

it("lists what differs, or all, under headings", () => {
  const compared = runs.map((run) => ({ run, color: "red" }));
  const keys = (all: boolean, text = "") =>
    rowsOf(compared, { value: "last", all, text }).map((row) => row.key);
  expect(keys(false)).toEqual(["Parameters", "deep", "lr", "Metrics", "val_loss", "Tags", "team"]);
  expect(keys(true)).toContain("same");
  expect(keys(true, "LOSS")).toEqual(["Metrics", "val_loss"]);
});

it("begins with a parameter against what was measured on other data", () => {
  expect(usualFields(["metrics.acc", "metrics.val_acc", "params.lr"])).toEqual([
    "params.lr",
    "metrics.val_acc",
  ]);
  expect(usualFields([])).toEqual([undefined, undefined]);
});

it("finds images among artifacts, and the newest up to a step", () => {
  expect(readImage("images/a/b/12.png")).toEqual({ key: "a/b", step: 12, path: "images/a/b/12.png" });
  expect(readImage("plots/roc.svg")).toMatchObject({ key: "plots/roc.svg", step: 0 });
  expect(readImage("model.pt")).toBeNull();
  const images = [0, 10, 20].map((step) => ({ key: "a", step, path: `images/a/${step}.png` }));
  expect(atStep(images, 15)?.step).toBe(10);
  expect(atStep(images, -1)).toBeUndefined();
});

it("reads an address that anybody may have typed", () => {
  const read = readCompareSearch({ runs: "a,,b,a", tab: "nothing", smooth: "500", x: "epoch", all: "true" });
  expect(read).toMatchObject({ tab: undefined, smooth: undefined, x: "epoch", all: true });
  expect(idsOf(read.runs)).toEqual(["a", "b"]);
});
