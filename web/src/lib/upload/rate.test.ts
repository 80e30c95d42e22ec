import { expect, it } from "vitest";
import { rateOf, type Sample, secondsLeft, withSample } from "./rate";

const add = (samples: Sample[], at: number, bytes: number) => withSample(samples, { at, bytes });

it("is unknown at first, then the speed of the last seconds", () => {
  let samples = add([], 0, 0);
  expect(rateOf(samples)).toBeNull();
  samples = add(samples, 1000, 100);
  expect(rateOf(samples)).toBe(100);
  for (let second = 2; second <= 40; second++)
    samples = add(samples, 1000 * second, 100 + 1000 * (second - 1));
  expect(rateOf(samples)).toBe(1000);
  expect(samples.length).toBeLessThan(15);
});

it("knows no time left while nothing moves", () => {
  expect(secondsLeft(100, null)).toBeNull();
  expect(secondsLeft(100, 0)).toBeNull();
  expect(secondsLeft(100, 50)).toBe(2);
});
