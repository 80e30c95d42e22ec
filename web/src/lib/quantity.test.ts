import { describe, expect, it } from "vitest";
import {
  formatBandwidth,
  formatBytes,
  formatElapsed,
  formatGpus,
  formatRate,
  formatSeconds,
  formatUsed,
  plural,
} from "./quantity";
// Checked against the server's own functions by tests/unit/model/test_quantity_vectors.py.
import vectors from "./quantity.vectors.json";

describe("quantities are written as the server writes them", () => {
  it.each(vectors.bytes as [number, string][])("%d bytes are %s", (count, words) => {
    expect(formatBytes(count)).toBe(words);
  });
  it.each(vectors.seconds as [number, string][])("%d seconds are %s", (seconds, words) => {
    expect(formatSeconds(seconds)).toBe(words);
  });
  it.each(vectors.gpus as [number, string][])("%d hundredths are %s", (hundredths, words) => {
    expect(formatGpus(hundredths)).toBe(words);
  });
});

describe("formatUsed", () => {
  it("writes both in the unit of the whole", () => {
    expect(formatUsed(1_070_000_000, 360_770_000_000)).toBe("1.07/360.77 GB");
    expect(formatUsed(0, 0)).toBe("0/0 B");
    expect(formatUsed(500_000, 2_000_000)).toBe("0.50/2.00 MB");
  });
});

it("writes links in bits and throughput in bytes, as the command line does", () => {
  expect(formatBandwidth(10_000_000_000)).toBe("10 Gbit/s");
  expect(formatBandwidth(400_000_000)).toBe("400 Mbit/s");
  expect(formatBandwidth(2_500_000_000_000)).toBe("2.5 Tbit/s");
  expect(formatBandwidth(12)).toBe("12 bit/s");
  expect(formatRate(118_000_000.4)).toBe("118.0 MB/s");
});

it("shows running time in whole seconds", () => {
  expect(formatElapsed(12.9)).toBe("12 s");
  expect(formatElapsed(2034.9)).toBe("33 m 54 s");
});

it("counts one and many", () => {
  expect(plural(1, "commit")).toBe("1 commit");
  expect(plural(627_615, "file")).toBe("627,615 files");
});
