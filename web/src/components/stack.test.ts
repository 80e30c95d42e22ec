import { expect, it } from "vitest";
import { stackOf } from "./stack";

it("puts each line on those before it", () => {
  expect(
    stackOf([
      [1, 2],
      [3, null],
      [1, 1],
    ]),
  ).toEqual([
    [1, 2],
    [4, 2],
    [5, 3],
  ]);
});
