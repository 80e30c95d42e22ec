/** How a chart writes times: hours from 0 to 24 and the month as a word, since 11/12 is another day elsewhere. */
import type uPlot from "uplot";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const [MONTH, YEAR] = [28 * DAY, 365 * DAY];
const DATE = "\n{D} {MMM} {YYYY}";
const DAY_AND_MONTH = "\n{D} {MMM}";

/** From this distance of ticks on: each tick, and what is written below where the year, month, day … begins. */
export const TIME_TICKS: uPlot.Axis.Values = [
  [YEAR, "{YYYY}", null, null, null, null, null, null, 1],
  [MONTH, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [DAY, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [HOUR, "{HH}:{mm}", DATE, null, DAY_AND_MONTH, null, null, null, 1],
  [MINUTE, "{HH}:{mm}", DATE, null, DAY_AND_MONTH, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", DATE, null, DAY_AND_MONTH, null, null, null, 1],
];
