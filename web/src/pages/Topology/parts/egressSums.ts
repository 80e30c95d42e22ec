import type { EgressReport } from "../../../api/shapes";
import type { ChartData } from "../../../components/Chart";

const DAY_SECONDS = 86_400;

export interface EgressSum {
  project: string;
  link: string;
  bytes: number;
  money: number;
}

/** By project and link, the largest first. */
export function egressSums({ rows }: EgressReport): EgressSum[] {
  const found = new Map<string, EgressSum>();
  for (const { project, link, bytes, money } of rows) {
    const key = `${project}\n${link}`;
    const before = found.get(key) ?? { project: project ?? "", link: link ?? "", bytes: 0, money: 0 };
    found.set(key, { ...before, bytes: before.bytes + bytes, money: before.money + money });
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes || a.link.localeCompare(b.link));
}

/** A line for each link, stacked; days on which nothing came are drawn as nothing. */
export function egressByDay({ rows, since, until }: EgressReport): ChartData {
  const first = startOf(since);
  const days = Math.round((startOf(until) - first) / DAY_SECONDS) + 1;
  const x = Array.from({ length: days + 1 }, (_, day) => first + day * DAY_SECONDS);
  const lines = new Map<string, number[]>();
  for (const { day, link, bytes } of rows) {
    const at = Math.round((startOf(day ?? since) - first) / DAY_SECONDS);
    const values = lines.get(link ?? "") ?? x.map(() => 0);
    values[at] = (values[at] ?? 0) + bytes;
    // A value holds until the next point: that of the last day is drawn to its end.
    if (at === days - 1) values[days] = values[at];
    lines.set(link ?? "", values);
  }
  return {
    x,
    time: true,
    stacked: true,
    fromZero: true,
    lines: [...lines].map(([label, values]) => ({ label, values })),
  };
}

function startOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}
