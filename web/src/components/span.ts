import type { ChartData } from "./Chart";

/** What a single point has on either side: half a minute, or one step. */
const BESIDE = { time: 30, steps: 1 };

/** From where to where a chart is drawn: a single point would leave that to the library, which then shows years. */
export function spanOf(
  { span, time }: Pick<ChartData, "span" | "time">,
  least: number,
  greatest: number,
): [number, number] {
  if (span) return [span[0], span[1]];
  if (greatest > least) return [least, greatest];
  const beside = time ? BESIDE.time : BESIDE.steps;
  return [least - beside, least + beside];
}
