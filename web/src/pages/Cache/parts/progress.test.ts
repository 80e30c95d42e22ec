import { expect, it } from "vitest";
import { leftOf, progressWords, shareOf } from "./progress";

it("measures a fill by its bytes, and one without bytes by its files", () => {
  expect(shareOf({ done_bytes: 25, bytes: 100 })).toBe(25);
  expect(shareOf({ done_bytes: 0, bytes: 0, done_files: 1, files: 4 })).toBe(25);
  expect(shareOf({ done_bytes: 0, bytes: 0 })).toBe(0);
  expect(shareOf({ done_bytes: 200, bytes: 100 })).toBe(100);
});

it("says how long a fill still takes, once that is known", () => {
  expect(leftOf(null, 90)).toBeNull();
  expect(leftOf(0.2, 0)).toBeNull();
  expect(leftOf(0.2, 90)).toBe("nearly there");
  expect(leftOf(125.4, 0)).toBe("2 m 5 s left");
});

it("says what arrived, how fast, and how long it still takes", () => {
  const fill = { done_bytes: 1_200_000_000, bytes: 4_000_000_000 };
  expect(progressWords(fill)).toBe("1.2 GB of 4.0 GB");
  expect(progressWords({ ...fill, bytes_per_second: 118_000_000, seconds_left: 24 })).toBe(
    "1.2 GB of 4.0 GB · 118.0 MB/s · 24 s left",
  );
});
