import type { ChartData } from "./Chart";

/** What a single point has on either side: half a minute, or one step. */
const BESIDE = { time: 30, steps: 1 };

/**
 * From where to where a chart is drawn, given what the library would show: the points, or what somebody has zoomed to.
 * Of a single point it would show years.
 */
export function spanOf(
  { span, time, x }: Pick<ChartData, "span" | "time" | "x">,
  least: number,
  greatest: number,
): [number, number] {
  const first = x[0] ?? least;
  const last = x.at(-1) ?? greatest;
  const zoomed = x.length > 1 && (least !== first || greatest !== last);
  if (zoomed) return [least, greatest];
  if (span) return [span[0], span[1]];
  if (last > first) return [first, last];
  const beside = time ? BESIDE.time : BESIDE.steps;
  return [first - beside, first + beside];
}
