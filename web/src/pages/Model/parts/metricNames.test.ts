import { expect, test } from "vitest";
import { aVersion } from "../../../testing/models";
import { chosenMetrics, metricNames, writeChosen } from "./metricNames";

test("metrics of all versions are known, each once and by name", () => {
  const versions = [aVersion({ metrics: { loss: 1, acc: 0.5 } }), aVersion({ metrics: { acc: "NaN" } })];
  expect(metricNames(versions)).toEqual(["acc", "loss"]);
});

test("the first few are columns until somebody chooses, and unknown names are left out", () => {
  const known = ["a", "b", "c", "d"];
  expect(chosenMetrics(known, undefined)).toEqual(["a", "b", "c"]);
  expect(chosenMetrics(known, "d,gone")).toEqual(["d"]);
});

test("a choice survives the address, whatever the names are, and so does an empty one", () => {
  const known = ["a,b", "loss"];
  expect(chosenMetrics(known, writeChosen(["a,b"]))).toEqual(["a,b"]);
  expect(chosenMetrics(known, writeChosen([]))).toEqual([]);
});
