import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type RefObject, useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import { type Curve, nearest, type Range, type XAxis, xRange, yRange } from "../../lib/curves";
import { formatMetric } from "../../lib/metric";
import { axisOptions } from "./axes";
import { CurveTooltip } from "./CurveTooltip";
import { type CursorStore, useCursorStore } from "./cursor";
import { type Frame, paintCurves, paintDot, paintHighlight, toX, toY } from "./paint";

interface Props {
  /** Unique on the page. */
  id: string;
  label: string;
  curves: readonly Curve[];
  axis: XAxis;
  log: boolean;
  height: number;
  /** What is shown of the axis; null for all of it. */
  zoom: Range | null;
  onZoom: (range: Range | null) => void;
}

/** What is drawn, read by callbacks of the drawing library when they run. */
interface Shown {
  curves: readonly Curve[];
  x: Range;
  y: Range;
  log: boolean;
}

/** Curves with axes; the library draws the frame, `paint.ts` the lines. Dragging zooms, a double click shows all. */
export function CurvePlot({ id, label, curves, axis, log, height, zoom, onZoom }: Props) {
  const scheme = useComputedColorScheme("light");
  const store = useCursorStore();
  const { ref: sized, width } = useElementSize<HTMLDivElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef<Shown>({ curves: [], x: [0, 1], y: [0, 1], log });
  const zoomed = useRef(onZoom);
  zoomed.current = onZoom;
  shown.current = useMemo(() => shownOf(curves, zoom, axis, log), [curves, zoom, axis, log]);

  useEffect(() => {
    if (!place.current) return;
    const made = new uPlot(
      optionsFor({ id, axis, log, height, scheme, shown, store, onZoom: (range) => zoomed.current(range) }),
      [
        [0, 1],
        [null, null],
      ],
      place.current,
    );
    plot.current = made;
    const over = overlayOf(made);
    const draw = () => paintOverlay(made, over, shown.current, store, scheme);
    const stop = store.subscribe(draw);
    return () => {
      stop();
      made.destroy();
      plot.current = null;
    };
  }, [id, axis, log, height, scheme, store]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot made anew needs its size and its curves again
  useEffect(() => {
    const made = plot.current;
    if (!made || width === 0) return;
    if (made.width !== width) made.setSize({ width, height });
    // The library only learns where to draw; the lines are drawn when it has.
    made.setData([[...shown.current.x], [...shown.current.y]]);
  }, [curves, zoom, width, axis, log, height, scheme]);

  return (
    <div ref={sized} className="curve-plot" style={{ height }}>
      <div ref={place} role="img" aria-label={label} />
      <CurveTooltip id={id} plot={plot} curves={curves} axis={axis} />
    </div>
  );
}

/** Axes with a little room; a single point has one step on either side. */
function shownOf(curves: readonly Curve[], zoom: Range | null, axis: XAxis, log: boolean): Shown {
  const whole = zoom ?? xRange(curves) ?? [0, 1];
  const beside = axis === "step" ? 1 : axis === "epoch" ? 0.5 : 30;
  const x: Range = whole[0] < whole[1] ? whole : [whole[0] - beside, whole[1] + beside];
  const values = yRange(curves, x, log) ?? [log ? 0.1 : 0, 1];
  const y: Range = log
    ? [values[0] / 1.12, values[1] * 1.12]
    : (uPlot.rangeNum(values[0], values[1], 0.08, true) as [number, number]);
  return { curves, x, y: y[0] < y[1] ? y : [y[0] - 1, y[0] + 1], log };
}

interface Making {
  id: string;
  axis: XAxis;
  log: boolean;
  height: number;
  scheme: "light" | "dark";
  shown: RefObject<Shown>;
  store: CursorStore;
  onZoom: (range: Range | null) => void;
}

function optionsFor({ id, axis, log, height, scheme, shown, store, onZoom }: Making): uPlot.Options {
  const grid = { stroke: scheme === "dark" ? "#34383d" : "#e9edf0", width: 1 };
  const look = {
    stroke: scheme === "dark" ? "#c1c2c5" : "#495057",
    grid,
    ticks: { show: false },
    font: "11px system-ui",
  };
  return {
    width: 300,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: axis === "time", range: () => [...shown.current.x] as [number, number] },
      y: { distr: log ? 3 : 1, range: () => [...shown.current.y] as [number, number] },
    },
    cursor: {
      x: false,
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => showAll(onZoom) },
    },
    hooks: {
      draw: [(plot) => paintCurves(plot.ctx, shown.current.curves, canvasFrame(plot, shown.current))],
      setCursor: [(plot) => point(plot, id, shown.current, store)],
      setSelect: [(plot) => select(plot, onZoom)],
    },
    axes: [
      { ...look, ...axisOptions(axis) },
      { ...look, size: (_, ticks) => widthOf(ticks), values: (_, ticks) => ticks.map(tickOf) },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
  };
}

/** A logarithmic axis leaves out some of its ticks. */
function tickOf(value: number | null): string {
  return value === null ? "" : formatMetric(value);
}

/** Room for the longest tick: digits of the axis font are a little over six pixels wide. */
function widthOf(written: string[] | null): number {
  return 16 + 6.2 * Math.max(3, ...(written ?? []).map((tick) => tick.length));
}

/** Null tells the library to do nothing of its own. */
function showAll(onZoom: Making["onZoom"]): null {
  onZoom(null);
  return null;
}

function select(plot: uPlot, onZoom: Making["onZoom"]): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** Tells all charts of the group where the mouse is, and which run's line is next to it. */
function point(plot: uPlot, id: string, shown: Shown, store: CursorStore): void {
  const { left, top } = plot.cursor;
  if (left == null || top == null || left < 0) {
    if (store.get().chart === id) store.set({ x: null, chart: null, run: null });
    return;
  }
  const x = plot.posToVal(left, "x");
  const frame = pageFrame(plot, shown);
  let [run, best] = [null as string | null, 40];
  for (const curve of shown.curves) {
    const near = nearest(curve, x, reachOf(shown));
    const y = near === null ? null : curve.y[near];
    const off = y == null ? Number.NaN : Math.abs(toY(frame, y) - top);
    if (off < best) [run, best] = [curve.run, off];
  }
  store.set({ x, chart: id, run });
}

/** How far from its points a curve still has a value. */
export function reachOf({ x }: Pick<Shown, "x">): number {
  return (x[1] - x[0]) / 12;
}

function canvasFrame(plot: uPlot, { x, y, log }: Shown): Frame {
  const { left, top, width, height } = plot.bbox;
  return { left, top, width, height, x, y, log, scale: uPlot.pxRatio };
}

/** The drawing area alone, in pixels of the page. */
function pageFrame(plot: uPlot, { x, y, log }: Shown): Frame {
  const { clientWidth: width, clientHeight: height } = plot.over;
  return { left: 0, top: 0, width, height, x, y, log, scale: 1 };
}

/** A canvas above the lines, so that pointing at them does not draw a hundred of them again. */
function overlayOf(plot: uPlot): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = "curve-overlay";
  plot.over.append(canvas);
  return canvas;
}

function paintOverlay(
  plot: uPlot,
  canvas: HTMLCanvasElement,
  shown: Shown,
  store: CursorStore,
  scheme: "light" | "dark",
): void {
  const ratio = uPlot.pxRatio;
  const { clientWidth, clientHeight } = plot.over;
  canvas.width = clientWidth * ratio;
  canvas.height = clientHeight * ratio;
  const ctx = canvas.getContext("2d");
  const { x, run } = store.get();
  if (!ctx) return;
  const frame: Frame = {
    left: 0,
    top: 0,
    width: canvas.width,
    height: canvas.height,
    ...spanOf(shown),
    scale: ratio,
  };
  const chosen = shown.curves.filter((curve) => curve.run === run);
  if (chosen.length > 0 && chosen.length < shown.curves.length) {
    paintHighlight(ctx, chosen, frame, scheme === "dark" ? "#242424" : "#ffffff");
  }
  if (x === null || x < shown.x[0] || x > shown.x[1]) return;
  ctx.fillStyle = scheme === "dark" ? "#868e96" : "#adb5bd";
  ctx.fillRect(toX(frame, x), 0, ratio, canvas.height);
  for (const curve of shown.curves.length > 30 ? chosen : shown.curves) {
    const near = nearest(curve, x, reachOf(shown));
    const y = near === null ? null : curve.y[near];
    if (near === null || y == null) continue;
    paintDot(ctx, frame, { x: curve.x[near] ?? 0, y, color: curve.color, size: curve.run === run ? 4 : 3 });
  }
}

function spanOf({ x, y, log }: Shown): Pick<Frame, "x" | "y" | "log"> {
  return { x, y, log };
}
