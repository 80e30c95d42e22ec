const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ["Edge", /\bEdg\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\bFirefox\//],
  ["Chrome", /\b(Chrome|Chromium|HeadlessChrome)\//],
  ["Safari", /\bSafari\//],
  ["mill", /^millpond\//],
];
const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ["Windows", /Windows/],
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["macOS", /Mac OS X|Darwin/],
  ["Linux", /Linux/],
];

/** What a browser calls itself, in two words: `Firefox on Linux`. */
export function browserOf(userAgent: string | null): string {
  const told = userAgent ?? "";
  const browser = BROWSERS.find(([, sign]) => sign.test(told))?.[0];
  const system = SYSTEMS.find(([, sign]) => sign.test(told))?.[0];
  if (!browser) return told ? told.slice(0, 40) : "unknown";
  return system ? `${browser} on ${system}` : browser;
}
