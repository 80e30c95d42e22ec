import { expect, it } from "vitest";
import { leftOf, shareOf } from "./progress";

it("measures a fill by its bytes, and one without bytes by its files", () => {
  expect(shareOf({ done_bytes: 25, bytes: 100 })).toBe(25);
  expect(shareOf({ done_bytes: 0, bytes: 0, done_files: 1, files: 4 })).toBe(25);
  expect(shareOf({ done_bytes: 0, bytes: 0 })).toBe(0);
  expect(shareOf({ done_bytes: 200, bytes: 100 })).toBe(100);
});

it("says how long a fill still takes, once that is known", () => {
  expect(leftOf(null)).toBeNull();
  expect(leftOf(0.2)).toBe("nearly there");
  expect(leftOf(125.4)).toBe("2 m 5 s left");
});
