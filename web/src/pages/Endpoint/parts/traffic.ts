/** Points of an endpoint's traffic as the lines of charts. */
import type { EndpointMetrics } from "../../../api/shapes";
import type { ChartData } from "../../../components/Chart";

export type TrafficPoint = EndpointMetrics["points"][number];

/** One line for each version; steps in which nothing was told are gaps. */
export function byVersion(
  { points }: EndpointMetrics,
  value: (point: TrafficPoint) => number | null,
  name: (version: string) => string = (version) => version,
): ChartData {
  const { times, versions, found } = indexed(points);
  return {
    x: times,
    time: true,
    fromZero: true,
    lines: versions.map((version) => ({
      label: name(version),
      values: times.map((at) => {
        const point = found.get(`${at} ${version}`);
        return point ? value(point) : null;
      }),
    })),
  };
}

/** One line over all versions: what their values add up to. */
export function inAll(
  { points }: EndpointMetrics,
  lines: Readonly<Record<string, (point: TrafficPoint) => number>>,
): ChartData {
  const { times } = indexed(points);
  const sums = (value: (point: TrafficPoint) => number) =>
    times.map((at) =>
      points.filter((point) => seconds(point) === at).reduce((sum, point) => sum + value(point), 0),
    );
  return {
    x: times,
    time: true,
    fromZero: true,
    lines: Object.entries(lines).map(([label, value]) => ({ label, values: sums(value) })),
  };
}

export interface Totals {
  requests: number;
  errors: number;
  /** The newest that is known. */
  p95: number | null;
}

export function totalsOf({ points }: EndpointMetrics): Totals {
  return {
    requests: points.reduce((sum, point) => sum + point.requests, 0),
    errors: points.reduce((sum, point) => sum + point.errors, 0),
    p95: points.findLast((point) => point.p95_ms !== null)?.p95_ms ?? null,
  };
}

function indexed(points: readonly TrafficPoint[]) {
  const times = [...new Set(points.map(seconds))].sort((one, two) => one - two);
  const versions = [...new Set(points.map((point) => point.version))].sort();
  const found = new Map(points.map((point) => [`${seconds(point)} ${point.version}`, point]));
  return { times, versions, found };
}

function seconds(point: TrafficPoint): number {
  return Date.parse(point.at) / 1000;
}
