import { describe, expect, it } from "vitest";
import type { EndpointDrift } from "../../../api/shapes";
import { isLogged, linesOf, rowsOf, settingsOf, withDrift, withoutDrift } from "./drift";

const column = (name: string, psi: number) => ({
  column: name,
  level: "some" as const,
  psi,
  statistic: 0.1,
  p_value: 0.001,
  reason: "",
  is_alert: psi > 0.2,
});
const point = (hour: number, psi: Record<string, number>) => ({
  since: `2026-11-18T0${hour}:00:00Z`,
  until: `2026-11-18T0${hour + 1}:00:00Z`,
  state: "done" as const,
  error: "",
  run: null,
  alerts: 0,
  psi,
});
const drift = {
  psi_max: 0.2,
  newest: { columns: [column("inputs.age", 0.3), column("inputs.height", 0.1)] },
  history: [
    point(3, { "inputs.age": 0.3, "inputs.height": 0.1 }),
    point(2, {}),
    point(1, { "inputs.age": 0.2 }),
  ],
} as unknown as EndpointDrift;

describe("drift", () => {
  it("has the history of each column, oldest first, with gaps", () => {
    expect(rowsOf(drift).map(({ column, history }) => [column, history])).toEqual([
      ["inputs.age", [0.2, null, 0.3]],
      ["inputs.height", [null, null, 0.1]],
    ]);
    expect(rowsOf({ ...drift, newest: null })).toEqual([]);
  });

  it("draws windows that were compared, and the limit", () => {
    const { x, lines } = linesOf(drift);
    expect(x).toHaveLength(2);
    expect(lines).toEqual([
      { label: "inputs.age", values: [0.2, 0.3] },
      { label: "inputs.height", values: [null, 0.1] },
      { label: "alert above", values: [0.2, 0.2] },
    ]);
  });

  it("reads and writes settings, and leaves the rest as it is", () => {
    const spec = {
      name: "xray",
      log: { level: "meta", sample: 0.5 },
      drift: { reference: "a@v1", on: "small" },
    };
    expect(settingsOf(spec)).toMatchObject({ reference: "a@v1", window: "1h", psi_max: 0.2 });
    const stored = { drift: { reference: "a", window: "5400s", every: "86400s" } };
    expect(settingsOf(stored)).toMatchObject({ window: "90m", every: "1d" });
    expect(isLogged(spec)).toBe(false);
    const changed = withDrift(spec, { ...settingsOf(spec), window: "6h", psi_max: 0.4 });
    expect(changed).toEqual({
      name: "xray",
      log: { level: "full", sample: 0.5, to: "xray-requests@main" },
      drift: {
        reference: "a@v1",
        on: "small",
        window: "6h",
        every: "6h",
        alert: { psi_max: 0.4, p_min: 0.01 },
      },
    });
    expect(isLogged(changed)).toBe(true);
    expect(withoutDrift(changed)).not.toHaveProperty("drift");
  });
});
