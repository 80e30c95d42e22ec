import { expect, it } from "vitest";
import type { CacheOffer } from "../../../api/shapes";
import { wordsOf } from "./offers";

const FITS: CacheOffer = {
  volume: "fast",
  site: "local",
  answer: "fits",
  needed_bytes: 2_000_000_000,
  fetch_bytes: 1_500_000_000,
  seconds: 12,
  evicts: 0,
  evicted: [],
  reasons: [],
  blockers: [],
};

const STEP = { cached_id: "c1", dataset: "default/digits", commit_id: "3fa2c1d0".padEnd(64, "0"), bytes: 1 };

it("says what a volume would answer", () => {
  expect(wordsOf(FITS)).toBe("would fit: 1.5 GB to fetch, about 12.0 s");
  expect(wordsOf({ ...FITS, seconds: null, answer: "there" })).toBe("already cached");
  const evicted = [{ ...STEP, at: null, cause: null, reason: "makes room for another commit" }];
  expect(wordsOf({ ...FITS, answer: "evicts", evicts: 3, evicted, seconds: null })).toBe(
    "would evict default/digits@3fa2c1d0, 2 commits of others: 1.5 GB to fetch",
  );
  expect(wordsOf({ ...FITS, answer: "refused", reasons: ["it takes 2 GB", "fast can give 1 GB"] })).toBe(
    "it takes 2 GB; fast can give 1 GB",
  );
});
