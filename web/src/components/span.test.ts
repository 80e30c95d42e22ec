import { expect, test } from "vitest";
import { spanOf } from "./span";

test("a chart spans its points, or what it is told", () => {
  expect(spanOf({ time: true }, 100, 200)).toEqual([100, 200]);
  expect(spanOf({ time: true, span: [0, 500] }, 100, 200)).toEqual([0, 500]);
});

test("a single point stands in the middle of a minute, or between two steps", () => {
  expect(spanOf({ time: true }, 100, 100)).toEqual([70, 130]);
  expect(spanOf({ time: false }, 5, 5)).toEqual([4, 6]);
});
