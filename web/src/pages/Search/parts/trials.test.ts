import { expect, test } from "vitest";
import { aSearch, aTrial } from "../../../testing/searches";
import { bestSoFar, comparedTrials, objectiveValue } from "./trials";

const [minimize] = aSearch().objectives as [NonNullable<ReturnType<typeof aSearch>["objectives"][0]>];

test("the best value only ever becomes better, and what did not succeed does not count", () => {
  const trials = [
    aTrial({ number: 0, values: [0.5] }),
    aTrial({ number: 1, values: [0.1], state: "pruned" }),
    aTrial({ number: 2, values: [0.7] }),
    aTrial({ number: 3, values: [0.3] }),
    aTrial({ number: 4, values: [], state: "failed" }),
  ];
  expect(bestSoFar(trials, minimize, 0)).toEqual([
    { number: 0, best: 0.5 },
    { number: 2, best: 0.5 },
    { number: 3, best: 0.3 },
  ]);
  expect(bestSoFar(trials, { ...minimize, direction: "maximize" }, 0).at(-1)?.best).toBe(0.7);
});

test("a trial that runs is shown with its newest value", () => {
  const running = aTrial({ state: "running", values: [], newest: { val_loss: 0.9 } });
  expect(objectiveValue(running, [minimize], 0)).toBe(0.9);
  expect(comparedTrials(aSearch(), [running, aTrial({ values: [], state: "failed" })], "red")).toHaveLength(
    1,
  );
});
