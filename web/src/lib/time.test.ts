import { expect, it } from "vitest";
import { formatRelative, secondsBetween } from "./time";

const now = new Date("2026-11-15T12:00:00Z");

it.each([
  ["2026-11-15T11:59:55Z", "just now"],
  ["2026-11-15T11:59:30Z", "30 seconds ago"],
  ["2026-11-15T04:00:00Z", "8 hours ago"],
  ["2026-11-14T12:00:00Z", "1 day ago"],
  ["2026-11-16T18:00:00Z", "in 1 day"],
  ["2024-11-01T12:00:00Z", "2 years ago"],
])("%s is %s", (time, words) => {
  expect(formatRelative(new Date(time), now)).toBe(words);
});

it("measures until now what has not ended", () => {
  expect(secondsBetween("2026-11-15T11:59:00Z", null, now)).toBe(60);
  expect(secondsBetween("2026-11-15T11:59:00+00:00", "2026-11-15T11:59:01.5+00:00", now)).toBe(1.5);
});
