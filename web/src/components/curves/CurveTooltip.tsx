import { Text } from "@mantine/core";
import type { RefObject } from "react";
import type uPlot from "uplot";
import { type Curve, nearest, type XAxis } from "../../lib/curves";
import { formatMetric } from "../../lib/metric";
import { formatPlace } from "./axes";
import { type Cursor, useCursor } from "./cursor";
import { LineSample } from "./LineSample";

const [MOST_HERE, MOST_ELSEWHERE] = [10, 4];

interface Props {
  id: string;
  plot: RefObject<uPlot | null>;
  curves: readonly Curve[];
  axis: XAxis;
}

/** The values of the curves at the common cursor: in the chart that is pointed at, and in all others of its group. */
export function CurveTooltip({ id, plot, curves, axis }: Props) {
  const cursor = useCursor();
  const made = plot.current;
  if (cursor.x === null || !made) return null;
  const { min, max } = made.scales.x ?? {};
  if (min == null || max == null || cursor.x < min || cursor.x > max) return null;
  const rows = rowsAt(curves, cursor, (max - min) / 12);
  if (rows.length === 0) return null;
  const most = cursor.chart === id ? MOST_HERE : MOST_ELSEWHERE;
  const left = made.over.offsetLeft + made.valToPos(cursor.x, "x");
  // Towards the middle of the window, and never beyond its edges.
  const inWindow = made.root.getBoundingClientRect().left + left;
  const beyond = inWindow > window.innerWidth / 2;
  const side = beyond
    ? { right: made.width - left + 10, maxWidth: Math.min(300, inWindow - 20) }
    : { left: left + 10, maxWidth: Math.min(300, window.innerWidth - inWindow - 30) };
  return (
    <div className="curve-tooltip" style={side} aria-hidden>
      <Text size="xs" c="dimmed">
        {formatPlace(axis, rows[0]?.x ?? cursor.x)}
      </Text>
      {rows.slice(0, most).map(({ curve, value }) => (
        <div key={curve.id} className="curve-tooltip-row" data-chosen={curve.run === cursor.run || undefined}>
          <LineSample color={curve.color} dash={curve.dash} />
          <span className="curve-tooltip-name">{curve.label}</span>
          <span className="mono">{formatMetric(value)}</span>
        </div>
      ))}
      {rows.length > most && (
        <Text size="xs" c="dimmed">
          and {rows.length - most} more
        </Text>
      )}
    </div>
  );
}

interface Row {
  curve: Curve;
  x: number;
  value: number;
}

/** The chosen run first, then the greatest values. */
export function rowsAt(curves: readonly Curve[], { x, run }: Cursor, within: number): Row[] {
  if (x === null) return [];
  const rows = curves.flatMap((curve) => {
    const place = nearest(curve, x, within);
    const value = place === null ? null : (curve.y[place] ?? null);
    return place === null || value === null ? [] : [{ curve, x: curve.x[place] ?? x, value }];
  });
  const isChosen = (row: Row) => Number(row.curve.run === run);
  return rows.sort((a, b) => isChosen(b) - isChosen(a) || b.value - a.value);
}
