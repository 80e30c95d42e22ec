/** How the common axis of curves is written. */
import type uPlot from "uplot";
import type { XAxis } from "../../lib/curves";
import { formatSeconds } from "../../lib/quantity";
import { formatAbsolute } from "../../lib/time";
import { TIME_TICKS } from "../timeAxis";

export const AXIS_NAMES: Record<XAxis, string> = {
  step: "Step",
  epoch: "Epoch",
  relative: "Relative time",
  time: "Time",
};

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const SPANS = [
  0.1,
  0.2,
  0.5,
  1,
  2,
  5,
  10,
  15,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  30 * DAY,
  100 * DAY,
];

/** A place on the axis in full. */
export function formatPlace(axis: XAxis, x: number): string {
  switch (axis) {
    case "time":
      return formatAbsolute(new Date(x * 1000));
    case "relative":
      return formatSeconds(Math.max(0, x));
    case "epoch":
      return `epoch ${Number(x.toFixed(3)).toLocaleString("en")}`;
    default:
      return `step ${Math.round(x).toLocaleString("en")}`;
  }
}

/** What differs between the axes for the drawing library. */
export function axisOptions(axis: XAxis): Pick<uPlot.Axis, "values" | "incrs" | "size"> {
  if (axis === "time") return { values: TIME_TICKS, size: 44 };
  if (axis === "relative") return { values: (_, ticks) => ticks.map(formatSpan), incrs: SPANS, size: 28 };
  return { values: (_, ticks) => ticks.map(formatCount), size: 28 };
}

/** `90 s`, `1.5 h`: short enough for a tick. */
function formatSpan(seconds: number): string {
  const [unit, size] =
    seconds >= 2 * DAY
      ? ["d", DAY]
      : seconds >= HOUR
        ? ["h", HOUR]
        : seconds >= MINUTE
          ? ["m", MINUTE]
          : ["s", 1];
  return `${Number((seconds / (size as number)).toFixed(1))} ${unit}`;
}

/** `10k`, `1.5M`: steps of long trainings. */
export function formatCount(count: number): string {
  const size = Math.abs(count);
  if (size >= 1e13)
    return count
      .toExponential()
      .replace(/(\.\d{2})\d+e/, "$1e")
      .replace("+", "");
  if (size >= 1e9) return `${Number((count / 1e9).toPrecision(4))}G`;
  if (size >= 1e6) return `${Number((count / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((count / 1e3).toPrecision(4))}k`;
  return String(Number(count.toPrecision(6)));
}
