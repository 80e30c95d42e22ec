import type { LimitWindowPut, RateLimit, RateLimitPut } from "../../../api/shapes";
import type { Limited } from "../../../api/topology";
import { shellQuote } from "../../../lib/names";

const MEGABIT = 1e6;

/** What somebody writes: one window of the day, and perhaps another rate for the rest of it. */
export interface LimitDraft {
  megabits: number | string;
  start: string;
  end: string;
  zone: string;
  otherwise: number | string;
}

export function limitDraft(limit: RateLimit | null): LimitDraft {
  const daily = limit?.windows.find((window) => window.start);
  const always = limit?.windows.find((window) => !window.start);
  const first = daily ?? always;
  return {
    megabits: first ? first.bits_per_second / MEGABIT : "",
    start: daily?.start ?? "",
    end: daily?.end ?? "",
    zone: daily?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    otherwise: daily && always ? always.bits_per_second / MEGABIT : "",
  };
}

/** Null while there is no rate. Times that make no sense are for the server to tell. */
export function limitOf({ megabits, start, end, zone, otherwise }: LimitDraft): RateLimitPut | null {
  if (megabits === "") return null;
  const bits = (value: number | string) => Math.round(Number(value) * MEGABIT);
  const isDaily = start.trim() !== "" || end.trim() !== "";
  const first: LimitWindowPut = {
    bits_per_second: bits(megabits),
    start: start.trim() || null,
    end: end.trim() || null,
    zone: (isDaily && zone.trim()) || "UTC",
  };
  const rest = { bits_per_second: bits(otherwise), start: null, end: null, zone: "UTC" };
  return { windows: isDaily && otherwise !== "" ? [first, rest] : [first] };
}

export function limitCommand(of: Limited, limit: RateLimitPut | null): string {
  const words = "site" in of ? ["site", "set", of.site] : ["link", "set", of.a, of.b];
  const said = (limit?.windows ?? []).flatMap(({ bits_per_second, start, end, zone }) => [
    `--limit ${bits_per_second / MEGABIT}Mbit/s`,
    ...(start && end ? [`--between ${start}-${end} ${shellQuote(zone ?? "UTC")}`] : []),
  ]);
  return ["mill", ...words.map(shellQuote), ...(said.length > 0 ? said : ["--no-limit"])].join(" ");
}

export function limitedName(of: Limited): string {
  return "site" in of ? `site ${of.site}` : `${of.a} – ${of.b}`;
}
