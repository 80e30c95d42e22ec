import { expect, it } from "vitest";
import { allocatedBy } from "./SharesChart";

const at = (minute: number) => `2026-11-15T12:0${minute}:00+00:00`;
const sample = (minute: number, project: string, allocated: number, pool = "") => ({
  at: at(minute),
  project,
  pool,
  allocated,
});

it("draws the GPUs of each project that had some, over all pools", () => {
  const history = [
    sample(1, "b", 2),
    sample(1, "a", 4),
    sample(2, "a", 1),
    sample(2, "a", 2, "cloud"),
    sample(2, "idle", 0),
  ];
  const { x, lines, stacked } = allocatedBy(history);
  expect(stacked).toBe(true);
  expect(x).toEqual([1, 2].map((minute) => Date.parse(at(minute)) / 1000));
  expect(lines).toEqual([
    { label: "a", values: [4, 3] },
    { label: "b", values: [2, 0] },
  ]);
});

it("draws one project alone when it is chosen", () => {
  const { lines } = allocatedBy([sample(1, "a", 4), sample(1, "b", 2)], "b");
  expect(lines).toEqual([{ label: "b", values: [2] }]);
});
