import { expect, it } from "vitest";
import { colorNumbers, RUN_COLORS } from "./runColors";

it("keeps the colour of a run, and gives few runs different ones", () => {
  const first = colorNumbers(["a", "b", "c"]);
  expect(new Set(first).size).toBe(3);
  expect(colorNumbers(["c", "a"])).toEqual([first[2], first[0]]);
  const next = colorNumbers(["b", "new"]);
  expect(next[1]).not.toBe(next[0]);
  const many = colorNumbers(Array.from({ length: 100 }, (_, number) => `run ${number}`));
  expect(new Set(many).size).toBe(RUN_COLORS.length);
});
