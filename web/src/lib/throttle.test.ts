import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { KeyedThrottle } from "./throttle";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("acts at once, then once for all calls of an interval", () => {
  const act = vi.fn();
  const throttle = new KeyedThrottle(500);
  for (let call = 0; call < 10; call++) throttle.call("jobs", act);
  expect(act).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(500);
  expect(act).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(5_000);
  expect(act).toHaveBeenCalledTimes(2);
});

it("keeps keys apart", () => {
  const seen: string[] = [];
  const throttle = new KeyedThrottle(500);
  throttle.call("a", () => seen.push("a"));
  throttle.call("b", () => seen.push("b"));
  expect(seen).toEqual(["a", "b"]);
});
