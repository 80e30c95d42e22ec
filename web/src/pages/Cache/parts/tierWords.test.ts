import { expect, test } from "vitest";
import { aVolume } from "../../../testing/builders";
import { enforcementWords, tierWords } from "./tierWords";

const VOLUME = aVolume();

test("a tier in words", () => {
  const tier = { name: "premium", throughput: 4, price: 1, bytes_per_second: null, volumes: [] };
  expect(tierWords({ ...tier, rate: null })).toBe("4 × the standard tier, not limited");
  expect(tierWords({ ...tier, rate: 4e8 })).toBe("4 × the standard tier, 400.0 MB/s");
});

test.each([
  [null, null, "not limited"],
  [4e8, null, "400.0 MB/s, not enforced yet"],
  [
    4e8,
    { by: "blkio", bytes_per_second: 4e8, problem: null },
    "400.0 MB/s, enforced by blkio, for jobs here",
  ],
  [4e8, { by: "plugin", bytes_per_second: 4e8, problem: null }, "400.0 MB/s, enforced by plug-in"],
  [
    4e8,
    { by: "none", bytes_per_second: null, problem: "Not enforced: it lies on a file server." },
    "400.0 MB/s, told only. Not enforced: it lies on a file server.",
  ],
])("what keeps a volume to %s: %o", (tier_rate, tier_enforced, words) => {
  expect(enforcementWords({ ...VOLUME, tier_rate, tier_enforced })).toBe(words);
});
