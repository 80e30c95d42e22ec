import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import type { ChartData } from "./Chart";
import { spanOf } from "./span";
import { stackOf } from "./stack";
import { TIME_TICKS } from "./timeAxis";

const HEIGHT = 180;
/** So few points are drawn as such: a single one makes no line. */
const FEW = 24;
const COLORS = {
  light: ["#0b7285", "#d9480f", "#5f3dc4", "#2b8a3e", "#a61e4d", "#1864ab", "#846100", "#495057"],
  dark: ["#3bc9db", "#ff922b", "#b197fc", "#69db7c", "#f783ac", "#74c0fc", "#ffd43b", "#ced4da"],
};

/** The colours of the lines, in their order. */
export function useLineColors(): readonly string[] {
  return COLORS[useComputedColorScheme("light")];
}

interface Props {
  label: string;
  data: ChartData;
  format: (value: number) => string;
  /** Called with the number of the point under the cursor; null when the cursor leaves. Must not change. */
  onPoint: (index: number | null) => void;
}

/** The drawing itself: new points are handed to the same canvas, which is made anew only when its look changes. */
export function Plot({ label, data, format, onPoint }: Props) {
  const scheme = useComputedColorScheme("light");
  const { ref: sized, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(data);
  newest.current = data;
  const labels = data.lines.map((line) => line.label).join("\0");

  useEffect(() => {
    if (!place.current) return;
    const made = new uPlot(
      optionsFor(labels.split("\0"), () => newest.current, scheme, format, onPoint),
      [[]],
      place.current,
    );
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [labels, scheme, format, onPoint]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot made anew needs its size again
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
  }, [width, labels, scheme, format]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot made anew needs its points again
  useEffect(() => {
    const values = data.lines.map((line) => line.values);
    plot.current?.setData([data.x, ...(data.stacked ? stackOf(values) : values)] as uPlot.AlignedData);
  }, [data, labels, scheme, format]);

  return (
    <div ref={sized} style={{ height: HEIGHT, overflow: "hidden" }}>
      <div ref={place} role="img" aria-label={label} />
    </div>
  );
}

function optionsFor(
  labels: string[],
  shown: () => ChartData,
  scheme: "light" | "dark",
  format: (value: number) => string,
  onPoint: Props["onPoint"],
): uPlot.Options {
  const { time, fromZero, stacked } = shown();
  const ink = scheme === "dark" ? "#c1c2c5" : "#495057";
  const grid = { stroke: scheme === "dark" ? "#34383d" : "#e3e7ea", width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, font: "11px system-ui" };
  return {
    width: 300,
    height: HEIGHT,
    // The chart names its lines itself.
    legend: { show: false },
    scales: {
      x: { time, range: (_, least, greatest) => spanOf(shown(), least, greatest) },
      y: fromZero ? { range: { min: { pad: 0, soft: 0, mode: 1 }, max: { pad: 0.1 } } } : {},
    },
    cursor: { drag: { x: true, y: false } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    axes: [
      { ...axis, size: time ? 44 : 28, values: time ? TIME_TICKS : undefined },
      { ...axis, size: (_, written) => widthOf(written), values: (_, ticks) => ticks.map(format) },
    ],
    series: [{}, ...labels.map((label, index) => seriesFor(label, colorOf(scheme, index), !!stacked))],
    // Each is filled down to the one below.
    bands: stacked ? labels.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as const })) : [],
  };
}

function seriesFor(label: string, color: string, stacked: boolean): uPlot.Series {
  const points = { show: (plot: uPlot) => (plot.data[0]?.length ?? 0) <= FEW, size: 5 };
  const line = { label, stroke: color, width: 1.75, spanGaps: false };
  if (!stacked) return { ...line, points };
  return { ...line, fill: `${color}99`, points: { show: false }, paths: uPlot.paths.stepped?.({ align: 1 }) };
}

function colorOf(scheme: "light" | "dark", index: number): string {
  return COLORS[scheme][index % COLORS[scheme].length] ?? "";
}

/** Room for the longest tick: digits of the axis font are a little over six pixels wide. */
function widthOf(written: string[] | null): number {
  const longest = Math.max(3, ...(written ?? []).map((tick) => tick.length));
  return 22 + 6.2 * longest;
}
