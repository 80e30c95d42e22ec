import { expect, it } from "vitest";
import { durationProblem, parseDuration, writeDuration } from "./duration";

it.each([
  ["90s", 90],
  ["15m", 900],
  ["1.5 h", 5400],
  ["1D", 86_400],
  ["", 0],
  ["0", 0],
])("reads %s", (text, seconds) => expect(parseDuration(text)).toBe(seconds));

it.each(["90", "soon", "1w", "-1h"])("refuses %s and says how to write it", (text) => {
  expect(parseDuration(text)).toBeNull();
  expect(durationProblem(text)).toContain("8h");
});

it.each([
  [0, ""],
  [90, "90s"],
  [5400, "90m"],
  [43_200, "12h"],
  [172_800, "2d"],
])("writes %i s", (seconds, text) => expect(writeDuration(seconds)).toBe(text));
