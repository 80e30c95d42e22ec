/** What charts do to series before they draw them: axes, smoothing, bands of groups. No drawing here. */
import type { Series } from "../api/shapes";

export const X_AXES = ["step", "epoch", "relative", "time"] as const;
export type XAxis = (typeof X_AXES)[number];

/** One line of a chart. `x` grows; a value of null is a gap. */
export interface Curve {
  /** Unique in its chart. */
  readonly id: string;
  /** Whose line it is: lines of one run are highlighted together. */
  readonly run: string;
  readonly label: string;
  readonly color: string;
  readonly dash: readonly number[];
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  /** As it was before smoothing; drawn faintly behind. */
  readonly raw?: readonly (number | null)[];
  /** Least and greatest of a group at each x. */
  readonly band?: readonly [readonly (number | null)[], readonly (number | null)[]];
}

/** How far each series is along the axis: its steps, its times, or what `epoch` was at each step. */
export function xOf(
  series: Pick<Series, "steps" | "times">,
  axis: XAxis,
  begin: number,
  epochs?: Pick<Series, "steps" | "values">,
): readonly number[] {
  if (axis === "time") return series.times.map((time) => time / 1000);
  if (axis === "relative") return series.times.map((time) => (time - begin) / 1000);
  if (axis === "epoch" && epochs && epochs.steps.length > 0) {
    return series.steps.map((step) => interpolated(epochs.steps, epochs.values, step));
  }
  return series.steps;
}

/** A value that can be drawn; NaN and infinities are gaps. */
export function drawable(value: Series["values"][number]): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/**
 * The moving average that TensorBoard and W&B draw: each value weighs `weight` times as much as the one behind it,
 * corrected for the beginning. Gaps stay gaps.
 */
export function smoothed(values: readonly (number | null)[], weight: number): readonly (number | null)[] {
  if (weight <= 0) return values;
  let sum = 0;
  let seen = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = sum * weight + (1 - weight) * value;
    seen = seen * weight + (1 - weight);
    return sum / seen;
  });
}

/** The place of the last x that is not greater; -1 if all are. */
export function placeOf(x: readonly number[], at: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The point nearest to `at`, with a value; null if the curve has none, or does not reach so far. */
export function nearest(curve: Curve, at: number, within: number): number | null {
  const before = placeOf(curve.x, at);
  const found = [before, before + 1]
    .filter((place) => curve.y[place] != null)
    .sort((a, b) => distance(curve, a, at) - distance(curve, b, at))[0];
  return found !== undefined && distance(curve, found, at) <= within ? found : null;
}

function distance(curve: Curve, place: number, at: number): number {
  return Math.abs((curve.x[place] ?? Number.POSITIVE_INFINITY) - at);
}

export type Range = readonly [number, number];

/** From the least to the greatest x of all curves; null without a point. */
export function xRange(curves: readonly Curve[]): Range | null {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x } of curves) {
    if (x.length === 0) continue;
    least = Math.min(least, x[0] ?? least);
    greatest = Math.max(greatest, x.at(-1) ?? greatest);
  }
  return least <= greatest ? [least, greatest] : null;
}

/** The least and greatest value between two x; with `positive`, of those that a logarithmic axis can show. */
export function yRange(curves: readonly Curve[], [from, to]: Range, positive: boolean): Range | null {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const take = (values: readonly (number | null)[], first: number, last: number) => {
    for (let place = first; place <= last; place++) {
      const value = values[place];
      if (value == null || (positive && value <= 0)) continue;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  };
  for (const curve of curves) {
    const first = Math.max(0, placeOf(curve.x, from));
    const last = Math.min(curve.x.length - 1, placeOf(curve.x, to) + 1);
    for (const values of curve.band ?? [curve.y]) take(values, first, last);
  }
  return least <= greatest ? [least, greatest] : null;
}

/** Mean, least and greatest of a group of curves at up to `most` places of their common axis. */
export function banded(curves: readonly Curve[], most = 400): Pick<Curve, "x" | "y" | "band"> {
  const every = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const stride = Math.max(1, Math.ceil(every.length / most));
  const x = every.filter((_, place) => place % stride === 0 || place === every.length - 1);
  const rows = x.map((at) => curves.map((curve) => valueAt(curve, at)).filter((value) => value !== null));
  const each = (read: (row: number[]) => number) => rows.map((row) => (row.length ? read(row) : null));
  return {
    x,
    y: each((row) => row.reduce((sum, value) => sum + value, 0) / row.length),
    band: [each((row) => Math.min(...row)), each((row) => Math.max(...row))],
  };
}

/** Between two points as drawn: on the line that joins them. Null outside the curve and in gaps. */
function valueAt({ x, y }: Curve, at: number): number | null {
  const before = placeOf(x, at);
  const [left, right] = [y[before], y[before + 1]];
  if (left == null) return null;
  const from = x[before] ?? at;
  if (from === at) return left;
  if (right == null) return null;
  return left + ((right - left) * (at - from)) / ((x[before + 1] ?? at) - from);
}

function interpolated(
  steps: readonly number[],
  values: readonly Series["values"][number][],
  at: number,
): number {
  const before = Math.max(0, placeOf(steps, at));
  const left = Number(values[before]);
  const right = Number(values[before + 1] ?? values[before]);
  const [from, to] = [steps[before] ?? at, steps[before + 1] ?? at];
  return to > from && at > from ? left + ((right - left) * (at - from)) / (to - from) : left;
}
