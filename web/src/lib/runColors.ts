/** A colour for each run that stays the same on every page of this browser. */
import { readChoice, writeChoice } from "./storage";

const KEY = "run-colors";
const MOST = 2000;

/** Pairs for the light and the dark scheme; each is seen well on its background. */
export const RUN_COLORS: readonly (readonly [light: string, dark: string])[] = [
  ["#1971c2", "#4dabf7"],
  ["#e8590c", "#ff922b"],
  ["#2f9e44", "#69db7c"],
  ["#c2255c", "#f783ac"],
  ["#7048e8", "#b197fc"],
  ["#0c8599", "#3bc9db"],
  ["#a66f00", "#ffd43b"],
  ["#9c36b5", "#da77f2"],
  ["#495057", "#ced4da"],
  ["#c92a2a", "#ff8787"],
  ["#5c940d", "#a9e34b"],
  ["#364fc7", "#91a7ff"],
  ["#087f5b", "#38d9a9"],
  ["#a0522d", "#e0a37e"],
  ["#0b7285", "#99e9f2"],
  ["#862e9c", "#eebefa"],
  ["#b5651d", "#ffc078"],
  ["#2b6777", "#a5d8ff"],
  ["#6b705c", "#d8f5a2"],
  ["#d6336c", "#fcc2d7"],
];

/** Number of its colour by run, in the order they were given out. */
const given: Map<string, number> = remembered();

/**
 * Numbers of colours, in the order of the runs. A run that has none takes the first that no other of these runs has, so
 * that a few runs never look alike.
 */
export function colorNumbers(runs: readonly string[]): readonly number[] {
  const uses = RUN_COLORS.map(() => 0);
  for (const run of runs) {
    const known = given.get(run);
    if (known !== undefined) uses[known] = (uses[known] ?? 0) + 1;
  }
  let changed = false;
  const numbers = runs.map((run) => {
    const known = given.get(run);
    if (known !== undefined) return known;
    const free = uses.indexOf(Math.min(...uses));
    uses[free] = (uses[free] ?? 0) + 1;
    given.set(run, free);
    changed = true;
    return free;
  });
  if (changed) writeChoice(KEY, JSON.stringify([...given].slice(-MOST)));
  return numbers;
}

export function colorOf(number: number, scheme: "light" | "dark"): string {
  return RUN_COLORS[number % RUN_COLORS.length]?.[scheme === "dark" ? 1 : 0] ?? "";
}

function remembered(): Map<string, number> {
  try {
    const pairs: unknown = JSON.parse(readChoice(KEY) ?? "[]");
    if (!Array.isArray(pairs)) return new Map();
    return new Map(pairs.filter(([run, number]) => typeof run === "string" && RUN_COLORS[number]));
  } catch {
    return new Map();
  }
}
