import { expect, it } from "vitest";
import { perSecond } from "./rates";

it("turns sums into rates, with a gap where the sums begin anew", () => {
  expect(perSecond([0, 2, 4, 6, 8], [0, 100, 100, 10, 30])).toEqual([null, 50, 0, null, 10]);
  expect(perSecond([], [])).toEqual([]);
});
