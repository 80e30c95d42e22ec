/** Draws curves on a canvas. The drawing library wants one axis for all its lines; runs have steps of their own. */
import type { Curve, Range } from "../../lib/curves";
import { placeOf } from "../../lib/curves";

/** The part of the canvas that curves are drawn in, and what it shows. Lengths are pixels of the canvas. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly x: Range;
  readonly y: Range;
  readonly log: boolean;
  /** Pixels of the canvas per pixel of the page. */
  readonly scale: number;
}

/** So few points are drawn as such: a single one makes no line. */
const FEW = 24;

export function paintCurves(ctx: CanvasRenderingContext2D, curves: readonly Curve[], frame: Frame): void {
  clipped(ctx, frame, () => {
    for (const curve of curves) paintBand(ctx, curve, frame);
    for (const curve of curves) {
      if (curve.raw) paintLine(ctx, curve, curve.raw, frame, { width: 1, alpha: 0.22 });
    }
    const many = curves.length > 30;
    for (const curve of curves) {
      paintLine(ctx, curve, curve.y, frame, { width: many ? 1.2 : 1.75, alpha: many ? 0.85 : 1 });
      paintPoints(ctx, curve, frame);
    }
  });
}

/** The same lines again, thicker, with a rim of the background so that they stand out from a bundle. */
export function paintHighlight(
  ctx: CanvasRenderingContext2D,
  curves: readonly Curve[],
  frame: Frame,
  background: string,
): void {
  clipped(ctx, frame, () => {
    for (const curve of curves) {
      paintLine(ctx, { ...curve, color: background, dash: [] }, curve.y, frame, { width: 6, alpha: 0.9 });
    }
    for (const curve of curves) paintLine(ctx, curve, curve.y, frame, { width: 3, alpha: 1 });
  });
}

export function paintDot(
  ctx: CanvasRenderingContext2D,
  frame: Frame,
  at: { x: number; y: number; color: string; size: number },
): void {
  const [px, py] = [toX(frame, at.x), toY(frame, at.y)];
  if (px < frame.left || px > frame.left + frame.width || Number.isNaN(py)) return;
  ctx.fillStyle = at.color;
  ctx.beginPath();
  ctx.arc(px, py, at.size * frame.scale, 0, 2 * Math.PI);
  ctx.fill();
}

export function toX({ left, width, x }: Frame, value: number): number {
  return left + ((value - x[0]) / (x[1] - x[0] || 1)) * width;
}

/** NaN for what a logarithmic axis cannot show. */
export function toY({ top, height, y, log }: Frame, value: number): number {
  if (log) {
    const [least, greatest] = [Math.log(y[0]), Math.log(y[1])];
    return top + (1 - (Math.log(value) - least) / (greatest - least || 1)) * height;
  }
  return top + (1 - (value - y[0]) / (y[1] - y[0] || 1)) * height;
}

function clipped(ctx: CanvasRenderingContext2D, { left, top, width, height }: Frame, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  draw();
  ctx.restore();
}

interface Look {
  width: number;
  alpha: number;
}

function paintLine(
  ctx: CanvasRenderingContext2D,
  { x, color, dash }: Curve,
  y: readonly (number | null)[],
  frame: Frame,
  { width, alpha }: Look,
): void {
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = color;
  ctx.lineWidth = width * frame.scale;
  ctx.lineJoin = "round";
  ctx.setLineDash(dash.map((length) => length * frame.scale));
  ctx.beginPath();
  let open = false;
  const [first, last] = inSight(x, frame.x);
  for (let place = first; place <= last; place++) {
    const value = y[place];
    const py = value == null ? Number.NaN : toY(frame, value);
    if (!Number.isFinite(py)) {
      open = false;
      continue;
    }
    const px = toX(frame, x[place] ?? 0);
    if (open) ctx.lineTo(px, py);
    else ctx.moveTo(px, py);
    open = true;
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.setLineDash([]);
}

/** One point more on either side, so that lines lead out of the picture. */
function inSight(x: readonly number[], [from, to]: Range): [number, number] {
  return [Math.max(0, placeOf(x, from)), Math.min(x.length - 1, placeOf(x, to) + 1)];
}

function paintPoints(ctx: CanvasRenderingContext2D, { x, y, color }: Curve, frame: Frame): void {
  const [first, last] = inSight(x, frame.x);
  if (last - first >= FEW) return;
  for (let place = first; place <= last; place++) {
    const value = y[place];
    if (value != null) paintDot(ctx, frame, { x: x[place] ?? 0, y: value, color, size: 2.5 });
  }
}

function paintBand(ctx: CanvasRenderingContext2D, { x, band, color }: Curve, frame: Frame): void {
  if (!band) return;
  const [least, greatest] = band;
  const places = x
    .map((_, place) => place)
    .filter((place) => least[place] != null && greatest[place] != null);
  ctx.globalAlpha = 0.16;
  ctx.fillStyle = color;
  ctx.beginPath();
  for (const place of places) ctx.lineTo(toX(frame, x[place] ?? 0), toY(frame, greatest[place] ?? 0));
  for (const place of places.toReversed())
    ctx.lineTo(toX(frame, x[place] ?? 0), toY(frame, least[place] ?? 0));
  ctx.fill();
  ctx.globalAlpha = 1;
}
