import { expect, test } from "vitest";
import { optionsOf } from "./options";
import { stateWords } from "./words";

const choice = {
  kind: "job-failed",
  label: "job failed",
  project: null,
  whose: "own",
  is_chosen: false,
} as const;

test("a kind can be off, of one's own or of everybody's; in a project also as everywhere", () => {
  expect(optionsOf(choice, false).map(({ value }) => value)).toEqual(["off", "own", "all"]);
  expect(optionsOf(choice, true)[0]).toEqual({ value: "default", label: "as everywhere: of my own" });
  expect(optionsOf({ ...choice, is_chosen: true }, true)[0]?.label).toBe("as everywhere");
});

test("nobody owns the server's disks, and nobody needs others' channels", () => {
  expect(optionsOf({ ...choice, kind: "backup-failed" }, false).map(({ value }) => value)).toEqual([
    "off",
    "all",
  ]);
  expect(optionsOf({ ...choice, kind: "channel-failing" }, false).map(({ value }) => value)).toEqual([
    "off",
    "own",
  ]);
});

test("a message that failed is still waiting", () => {
  expect(stateWords({ state: "waiting", attempts: 0 })).toBe("waiting");
  expect(stateWords({ state: "waiting", attempts: 2 })).toBe("failed, tried again");
  expect(stateWords({ state: "gave-up", attempts: 30 })).toBe("given up");
});
