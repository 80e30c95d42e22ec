import { expect, it } from "vitest";
import { formatCount } from "./axes";

it("writes steps short enough for a tick, whatever their size", () => {
  expect([0, 9999, 25_000, 1.5e6, 3e12, -2e9].map(formatCount)).toEqual([
    "0",
    "9999",
    "25k",
    "1.5M",
    "3000G",
    "-2G",
  ]);
  expect([5e18, 4.611686018427388e18, -9.2e18].map(formatCount)).toEqual(["5e18", "4.61e18", "-9.2e18"]);
});
