import { expect, it } from "vitest";
import { aCached } from "../../../testing/builders";
import { shownState } from "./state";

it.each([
  [{ state: "ready" }, "ready"],
  [{ state: "ready", problem: "Its volume cannot be used: it is not mounted." }, "away"],
  [{ state: "filling" }, "filling"],
  [{ state: "filling", problem: "The disk is too full." }, "held up"],
  [{ state: "filling", waiting: true, problem: "The disk is too full." }, "waiting"],
  [{ state: "failed", problem: "Bytes do not match." }, "failed"],
] as const)("shows %o as %s", (about, word) => {
  expect(shownState(aCached(about))).toBe(word);
});
