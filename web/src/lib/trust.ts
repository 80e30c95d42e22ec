import type { Volume } from "../api/shapes";

/** Who can read what lies somewhere, in words. */
export function trustWords(trust: Volume["trust"]): string {
  if (!trust.shared) return "each project's jobs their own data";
  if (trust.all) return "shared trust: all jobs, and every project is let in";
  return `shared trust: all jobs of the projects let in (${trust.projects.join(", ") || "none that you may see"})`;
}
