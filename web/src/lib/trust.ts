import type { Volume } from "../api/shapes";

/** Who can read what lies somewhere, in words. */
export function trustWords(trust: Volume["trust"]): string {
  if (!trust.shared) return "jobs see only their own project's data";
  if (trust.all) return "shared trust: all jobs of all projects";
  return `shared trust: all jobs of allowed projects (${trust.projects.join(", ") || "none that you can see"})`;
}
