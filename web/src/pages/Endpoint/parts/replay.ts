/** Replays in words. */
import type { Replay } from "../../../api/shapes";
import { formatNumber } from "../../../lib/metric";

/** In the words that jobs have for it. */
export function statusOf({ state }: Replay): "running" | "succeeded" | "failed" {
  return state === "done" ? "succeeded" : state;
}

/** The part of the samples whose answers are those that were given. */
export function agreementOf({ agreement, samples }: Replay): string {
  if (agreement === null) return "–";
  // What is not all is never shown as all.
  const share = agreement < 1 ? Math.min(agreement * 100, 99.99) : 100;
  return `${formatNumber(share)} % of ${samples.toLocaleString("en")}`;
}
