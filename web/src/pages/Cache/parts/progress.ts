/** How far a fill is, in numbers and words. */
import { formatElapsed } from "../../../lib/quantity";

/** Per cent of what comes; a commit without bytes is measured by its files. */
export function shareOf(fill: {
  done_bytes: number;
  bytes: number;
  done_files?: number;
  files?: number;
}): number {
  const { done_bytes, bytes, done_files = 0, files = 0 } = fill;
  const share = bytes > 0 ? done_bytes / bytes : files > 0 ? done_files / files : 0;
  return Math.min(100, Math.max(0, 100 * share));
}

/** `2 m 5 s left`; nothing while it is not known. */
export function leftOf(seconds: number | null): string | null {
  if (seconds === null) return null;
  return seconds < 1 ? "nearly there" : `${formatElapsed(seconds)} left`;
}
