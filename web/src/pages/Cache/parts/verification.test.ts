import { expect, it } from "vitest";
import type { CacheVerification } from "../../../api/shapes";
import { verificationWords } from "./verification";

function aVerification(part: Partial<CacheVerification>): CacheVerification {
  return {
    number: 1,
    state: "done",
    asked_by: "mary",
    asked_at: "2026-11-15T12:00:00+00:00",
    checked_files: 1797,
    checked_bytes: 1,
    damaged_files: 0,
    missing_files: 0,
    extra_files: 0,
    healed_files: 0,
    fetched_bytes: 0,
    examples: [],
    ...part,
  };
}

it("says how a verification went", () => {
  expect(verificationWords(null)).toBeNull();
  expect(verificationWords(aVerification({ state: "asked" }))?.words).toBe("waits to be verified");
  expect(verificationWords(aVerification({}))).toEqual({
    words: "verified, 1,797 files as they should be",
    bad: false,
  });
  expect(verificationWords(aVerification({ damaged_files: 2, missing_files: 1, healed_files: 3 }))).toEqual({
    words: "3 files of 1,797 were wrong, 3 healed",
    bad: false,
  });
  expect(verificationWords(aVerification({ damaged_files: 2, healed_files: 1 }))?.bad).toBe(true);
  expect(verificationWords(aVerification({ state: "failed", problem: "It is not mounted." }))).toEqual({
    words: "could not be verified: It is not mounted.",
    bad: true,
  });
});
