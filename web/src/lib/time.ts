/** Times relative to now, and absolute in the viewer's own zone. */

const STEPS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** `8 hours ago`, `in 2 days`, `just now`. */
export function formatRelative(time: Date, now: Date): string {
  const seconds = (time.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? "just now" : relative.format(Math.trunc(seconds), "second");
}

export function formatAbsolute(time: Date): string {
  return absolute.format(time);
}

/** Seconds between two times of the wire; until now when the second is missing. */
export function secondsBetween(start: string, end: string | null, now: Date): number {
  return Math.max(0, (end ? Date.parse(end) : now.getTime()) / 1000 - Date.parse(start) / 1000);
}
