/** How far a fill is, in numbers and words. */
import { formatBytes, formatElapsed, formatRate } from "../../../lib/quantity";

export interface Fill {
  done_bytes: number;
  bytes: number;
  done_files?: number;
  files?: number;
  bytes_per_second?: number | null;
  seconds_left?: number | null;
}

/** Per cent of the whole; a commit without bytes is measured by its files. */
export function shareOf({ done_bytes, bytes, done_files = 0, files = 0 }: Fill): number {
  const share = bytes > 0 ? done_bytes / bytes : files > 0 ? done_files / files : 0;
  return Math.min(100, Math.max(0, 100 * share));
}

/** `1.2 GB of 4.0 GB · 118.0 MB/s · 24 s left`: what is known of it. */
export function progressWords(fill: Fill): string {
  return [
    `${formatBytes(fill.done_bytes)} of ${formatBytes(fill.bytes)}`,
    fill.bytes_per_second != null && formatRate(fill.bytes_per_second),
    leftOf(fill.seconds_left ?? null, shareOf(fill)),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** `2 m 5 s left`; nothing while it is not known, nor "nearly there" of what has hardly begun. */
export function leftOf(seconds: number | null, percent: number): string | null {
  if (seconds === null || (seconds < 1 && percent < 50)) return null;
  return seconds < 1 ? "nearly there" : `${formatElapsed(seconds)} left`;
}
