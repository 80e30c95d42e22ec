import { expect, test } from "vitest";
import { describeResult } from "./results";

const NOTHING = { added: 0, changed: 0, removed: 0, unchanged: 4, bytes: 0, skipped_count: 0, skipped: [] };

test("a result says what happened and leaves out what did not", () => {
  expect(describeResult({ ...NOTHING, added: 1200, removed: 1, bytes: 32_400_000 })).toBe(
    "1,200 added, 1 removed · 32.4 MB",
  );
  expect(describeResult({ ...NOTHING, skipped_count: 2 })).toBe("2 left out · 0 B");
  expect(describeResult(NOTHING)).toBe("nothing new · 0 B");
});
