/** From series of the wire to the curves of one chart. */
import type { Series } from "../../../api/shapes";
import {
  banded,
  type Curve,
  drawable,
  placeOf,
  type Range,
  smoothed,
  type XAxis,
  xOf,
} from "../../../lib/curves";
import { splitOf } from "../../../lib/metric";

/** A run as charts know it. */
export interface ChartRun {
  readonly id: string;
  readonly name: string;
  readonly color: string;
  /** Of the keys in one chart, where no other run needs a colour; without them all have `color`. */
  readonly keyColors?: readonly string[];
  /** When it began to run, in milliseconds: the beginning of relative time. */
  readonly begin: number;
  /** Runs of one group are drawn as their mean, with a band from least to greatest. */
  readonly group?: string;
}

export interface Drawn {
  readonly axis: XAxis;
  /** 0 to 1. */
  readonly smooth: number;
  /** By run: what the metric `epoch` was. */
  readonly epochs: ReadonlyMap<string, Series>;
}

/** Line styles for training, validation and test data. */
const DASHES: readonly (readonly number[])[] = [[], [], [6, 4], [2, 3]];

/** A line of a chart and the steps it came from, by which a stretch of it is asked for again. */
export interface Source {
  readonly curve: Curve;
  readonly steps: readonly number[];
}

export function sourcesOf(
  items: readonly Series[],
  keys: readonly string[],
  runs: readonly ChartRun[],
  drawn: Drawn,
): Source[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  return items.flatMap((series) => {
    const run = byId.get(series.run);
    return run && keys.includes(series.key) ? [sourceOf(series, run, keys, runs.length, drawn)] : [];
  });
}

function sourceOf(
  series: Series,
  run: ChartRun,
  keys: readonly string[],
  runs: number,
  drawn: Drawn,
): Source {
  const values = series.values.map(drawable);
  const y = smoothed(values, drawn.smooth);
  const x = xOf(series, drawn.axis, run.begin, drawn.epochs.get(series.run));
  return {
    steps: series.steps,
    curve: {
      id: `${series.run} ${series.key}`,
      run: run.id,
      label: labelOf(series.key, run, keys, runs),
      color: colorOf(series.key, run, keys),
      dash: dashOf(series.key, keys),
      x,
      y,
      raw: drawn.smooth > 0 ? values : undefined,
    },
  };
}

/** Whatever tells its line from the others of the chart: the run, the key, or both. */
function labelOf(key: string, run: ChartRun, keys: readonly string[], runs: number): string {
  if (runs === 1) return key;
  return keys.length === 1 ? run.name : `${run.name} · ${key}`;
}

export function colorOf(key: string, { color, keyColors }: ChartRun, keys: readonly string[]): string {
  return keyColors?.[keys.indexOf(key) % keyColors.length] ?? color;
}

/** Keys of the same kind of data in one chart look alike only if nothing else is left to tell them by. */
export function dashOf(key: string, keys: readonly string[]): readonly number[] {
  if (keys.length === 1) return [];
  const split = splitOf(key);
  const same = keys.filter((other) => dashNumber(splitOf(other)) === dashNumber(split));
  return same[0] === key || same.length === 1 ? (DASHES[split] ?? []) : [10, 3, 2, 3];
}

/** Unsaid and training data are both drawn in full. */
function dashNumber(split: number): number {
  return Math.max(1, split);
}

/** One line for each group of runs and key. */
export function grouped(
  sources: readonly Source[],
  keys: readonly string[],
  runs: readonly ChartRun[],
): Curve[] {
  const groupOf = new Map(runs.map((run) => [run.id, run.group ?? ""]));
  const found = new Map<string, Curve[]>();
  for (const { curve } of sources) {
    const key = curve.id.slice(curve.run.length + 1);
    const name = JSON.stringify([groupOf.get(curve.run) ?? "", key]);
    found.set(name, [...(found.get(name) ?? []), curve]);
  }
  return [...found].flatMap(([name, curves]) => {
    const [group, key] = JSON.parse(name) as [string, string];
    const first = curves[0];
    if (!first) return [];
    const label = keys.length === 1 ? `${group} (${curves.length})` : `${group} (${curves.length}) · ${key}`;
    return [{ ...first, id: name, run: group, label, raw: undefined, ...banded(curves) }];
  });
}

/** The steps between which all that lies in a stretch of the axis is found, one point further on either side. */
export function stepsIn(sources: readonly Source[], [from, to]: Range): [number, number] | null {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { curve, steps } of sources) {
    const first = steps[Math.max(0, placeOf(curve.x, from))];
    const last = steps[Math.min(steps.length - 1, placeOf(curve.x, to) + 1)];
    if (first === undefined || last === undefined) continue;
    start = Math.min(start, first);
    end = Math.max(end, last);
  }
  return start <= end ? [start, end] : null;
}
