import { describe, expect, it } from "vitest";
import { byVersion, inAll, type TrafficPoint, totalsOf } from "./traffic";

const point = (at: string, version: string, more: Partial<TrafficPoint> = {}): TrafficPoint => ({
  at: `2026-11-18T10:${at}:00Z`,
  version,
  requests: 10,
  requests_per_second: 1,
  errors: 0,
  p50_ms: 1,
  p95_ms: 2,
  p99_ms: 3,
  outstanding: 1,
  held: 0,
  replicas: 1,
  batch_size: 1,
  queue_ms: 0.1,
  ...more,
});

const metrics = {
  step_seconds: 60,
  points: [point("00", "m@1"), point("01", "m@1", { errors: 2 }), point("01", "m@2", { p95_ms: 9 })],
};

describe("traffic", () => {
  it("has a line for each version, with gaps", () => {
    const { x, lines } = byVersion(metrics, (one) => one.requests_per_second);
    expect(x).toHaveLength(2);
    expect(lines).toEqual([
      { label: "m@1", values: [1, 1] },
      { label: "m@2", values: [null, 1] },
    ]);
  });

  it("adds versions up", () => {
    expect(inAll(metrics, { replicas: (one) => one.replicas }).lines).toEqual([
      { label: "replicas", values: [1, 2] },
    ]);
    expect(totalsOf(metrics)).toEqual({ requests: 30, errors: 2, p95: 9 });
    expect(totalsOf({ step_seconds: 60, points: [] })).toEqual({ requests: 0, errors: 0, p95: null });
  });
});
