import { expect, it } from "vitest";
import type { RateLimit } from "../../../api/shapes";
import { limitCommand, limitDraft, limitOf } from "./limits";

const LIMIT: RateLimit = {
  windows: [
    { bits_per_second: 100e6, start: "08:00", end: "18:00", zone: "Europe/Berlin" },
    { bits_per_second: 500e6, start: null, end: null, zone: "UTC" },
  ],
  text: "",
  bits_per_second: null,
  until: null,
  in_force: "",
};

it("gives back what was set", () => {
  expect(limitOf(limitDraft(LIMIT))).toEqual({ windows: LIMIT.windows });
});

it("says nothing without a rate", () => {
  expect(limitOf(limitDraft(null))).toBeNull();
});

it("holds always without times", () => {
  const draft = { ...limitDraft(null), megabits: 50, otherwise: 7 };
  expect(limitOf(draft)?.windows).toEqual([{ bits_per_second: 50e6, start: null, end: null, zone: "UTC" }]);
});

it("writes the command", () => {
  const said = limitOf(limitDraft(LIMIT));
  expect(limitCommand({ a: "lab", b: "lake" }, said)).toBe(
    "mill link set lab lake --limit 100Mbit/s --between 08:00-18:00 Europe/Berlin --limit 500Mbit/s",
  );
  expect(limitCommand({ site: "lab" }, null)).toBe("mill site set lab --no-limit");
});
