import { expect, test } from "vitest";
import { spanOf } from "./span";

test("a chart spans its points, or what it is told", () => {
  expect(spanOf({ time: true, x: [100, 200] }, 100, 200)).toEqual([100, 200]);
  expect(spanOf({ time: true, x: [100, 200], span: [0, 500] }, 100, 200)).toEqual([0, 500]);
});

test("what somebody zoomed to is shown, also in a chart that was told its span", () => {
  expect(spanOf({ time: true, x: [100, 200], span: [0, 500] }, 120, 150)).toEqual([120, 150]);
});

test("a single point stands in the middle of a minute, or between two steps, whatever the library would show", () => {
  expect(spanOf({ time: true, x: [100] }, 100, 86_400_100)).toEqual([70, 130]);
  expect(spanOf({ time: false, x: [5] }, 0, 100)).toEqual([4, 6]);
});
