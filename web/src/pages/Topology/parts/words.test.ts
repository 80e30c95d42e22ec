import { expect, it } from "vitest";
import { aComputeAt, aLink, aVolumeAt } from "../../../testing/topology";
import { declaredOf, fillsOf, linkCommand, measuredOf, strengthOf } from "./words";

it("says what was declared and what was measured of a link", () => {
  const link = aLink("lake", "berlin", {
    bits_per_second: 10_000_000_000,
    latency_ms: 0.5,
    measured_bytes_per_second: 118_000_000,
  });
  expect(declaredOf(link)).toBe("10 Gbit/s, 0.5 ms");
  expect(measuredOf(link)).toBe("118.0 MB/s measured");
  expect(declaredOf(null)).toBe("not declared");
  expect(measuredOf(aLink("a", "b"))).toBe("not measured yet");
});

it("says what runs on a compute and what is on its way to a volume", () => {
  expect(strengthOf(aComputeAt("berlin", "gpu"))).toBe("8 CPUs, 1.5/2 GPUs, 3 jobs");
  expect(fillsOf(aVolumeAt("berlin", "fast"))).toBeNull();
  expect(fillsOf(aVolumeAt("berlin", "fast", { fills: 1, fill_bytes_per_second: 2e6 }))).toBe(
    "1 fill, 2.0 MB/s",
  );
});

it("writes the command that says the same", () => {
  const said = { bits_per_second: 400_000_000, latency_ms: 12, price_per_gb: 0.09 };
  expect(linkCommand("lake", "cloud", said)).toBe(
    "mill link set lake cloud --bandwidth 400Mbit/s --latency 12ms --price-per-gb 0.09",
  );
});
