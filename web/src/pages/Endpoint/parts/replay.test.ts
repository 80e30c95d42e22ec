import { expect, it } from "vitest";
import type { Replay } from "../../../api/shapes";
import { agreementOf, statusOf } from "./replay";

const replay = (part: Partial<Replay>) =>
  ({ state: "done", agreement: 1, samples: 100_000, ...part }) as Replay;

it("does not show nearly all as all", () => {
  expect(agreementOf(replay({}))).toBe("100 % of 100,000");
  expect(agreementOf(replay({ agreement: 0.99999 }))).toBe("99.99 % of 100,000");
  expect(agreementOf(replay({ agreement: 0.5, samples: 4 }))).toBe("50 % of 4");
  expect(agreementOf(replay({ agreement: null }))).toBe("–");
});

it("has the words of jobs", () => {
  expect((["running", "done", "failed"] as const).map((state) => statusOf(replay({ state })))).toEqual([
    "running",
    "succeeded",
    "failed",
  ]);
});
