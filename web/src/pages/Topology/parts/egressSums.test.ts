import { expect, it } from "vitest";
import type { EgressReport } from "../../../api/shapes";
import { egressByDay, egressSums } from "./egressSums";

function row(day: string, project: string, link: string, bytes: number) {
  return { day, project, site: null, link, bytes, money: bytes / 1e9 };
}

const REPORT: EgressReport = {
  since: "2026-11-01",
  until: "2026-11-03",
  rows: [
    row("2026-11-01", "vision", "lake – lab", 1e9),
    row("2026-11-03", "vision", "lake – lab", 2e9),
    row("2026-11-03", "audio", "lab – paris", 5e9),
  ],
  total: { day: null, project: null, site: null, link: null, bytes: 8e9, money: 8 },
};

it("sums by project and link, the largest first", () => {
  expect(egressSums(REPORT)).toEqual([
    { project: "audio", link: "lab – paris", bytes: 5e9, money: 5 },
    { project: "vision", link: "lake – lab", bytes: 3e9, money: 3 },
  ]);
});

it("draws every day, also those without a byte", () => {
  const data = egressByDay(REPORT);
  expect(data.x).toHaveLength(4);
  expect(data.lines).toEqual([
    { label: "lake – lab", values: [1e9, 0, 2e9, 2e9] },
    { label: "lab – paris", values: [0, 0, 5e9, 5e9] },
  ]);
});
