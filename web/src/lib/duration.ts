/** Durations as the command line takes them: `90s`, `15m`, `8h`, `1d`. */

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Whole seconds; 0 for an empty text or `0`, null for what is no duration. */
export function parseDuration(text: string): number | null {
  const written = text.trim().toLowerCase();
  if (written === "" || /^0+$/.test(written)) return 0;
  const found = /^(\d+(?:\.\d+)?)\s*([smhd])$/.exec(written);
  const unit = found && SECONDS[found[2] ?? ""];
  return found && unit ? Math.floor(Number(found[1]) * unit) : null;
}

/** The same in the largest unit that divides it; empty for 0. */
export function writeDuration(seconds: number): string {
  if (seconds === 0) return "";
  const unit = ["d", "h", "m"].find((name) => seconds % (SECONDS[name] ?? 1) === 0) ?? "s";
  return `${seconds / (SECONDS[unit] ?? 1)}${unit}`;
}

/** For forms: what is wrong with a text, null if nothing is. */
export function durationProblem(text: string): string | null {
  return parseDuration(text) === null ? "Write it as 90s, 15m, 8h or 1d." : null;
}
