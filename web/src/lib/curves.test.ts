import { expect, it } from "vitest";
import { banded, type Curve, nearest, placeOf, smoothed, xOf, xRange, yRange } from "./curves";

function aCurve(x: number[], y: (number | null)[]): Curve {
  return { id: "a", run: "a", label: "a", color: "red", dash: [], x, y };
}

it("smooths without a dip at the beginning, and leaves gaps", () => {
  expect(smoothed([4, 4, null, 4], 0.9).map((value) => value && Math.round(value * 1e6) / 1e6)).toEqual([
    4,
    4,
    null,
    4,
  ]);
  expect(smoothed([0, 1], 0.5)).toEqual([0, 1 / 1.5]);
  const values = [1, 2];
  expect(smoothed(values, 0)).toBe(values);
});

it("finds the point under the cursor, but not far from the curve", () => {
  const curve = aCurve([0, 10, 20], [1, null, 3]);
  expect([placeOf(curve.x, -1), placeOf(curve.x, 10), placeOf(curve.x, 99)]).toEqual([-1, 1, 2]);
  expect(nearest(curve, 1, 5)).toBe(0);
  expect(nearest(curve, 17, 5)).toBe(2);
  expect(nearest(curve, 10, 5)).toBeNull();
  expect(nearest(curve, 40, 5)).toBeNull();
});

it("spans what is in sight, on a logarithmic axis only what it can show", () => {
  const curves = [aCurve([0, 1, 2, 3], [100, 5, -1, 4]), aCurve([2, 9], [7, 8])];
  expect(xRange(curves)).toEqual([0, 9]);
  expect(xRange([])).toBeNull();
  expect(yRange(curves, [1.5, 2.5], false)).toEqual([-1, 8]);
  expect(yRange(curves, [1.5, 2.5], true)).toEqual([4, 8]);
});

it("knows four axes", () => {
  const series = { steps: [0, 50, 100], times: [5000, 6000, 9000] };
  const epochs = { steps: [0, 100], values: [0, 2] };
  expect(xOf(series, "step", 0)).toEqual([0, 50, 100]);
  expect(xOf(series, "time", 0)).toEqual([5, 6, 9]);
  expect(xOf(series, "relative", 5000)).toEqual([0, 1, 4]);
  expect(xOf(series, "epoch", 0, epochs)).toEqual([0, 1, 2]);
  expect(xOf(series, "epoch", 0)).toEqual([0, 50, 100]);
});

it("gives the mean of a group with its least and greatest", () => {
  const group = [aCurve([0, 2], [0, 2]), aCurve([0, 1, 2], [4, 4, null])];
  expect(banded(group)).toEqual({
    x: [0, 1, 2],
    y: [2, 2.5, 2],
    band: [
      [0, 1, 2],
      [4, 4, 2],
    ],
  });
});
