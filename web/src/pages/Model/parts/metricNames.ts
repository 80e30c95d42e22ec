import type { ModelVersion } from "../../../api/shapes";
import { byName } from "../../../lib/metric";

const SHOWN = 3;

/** Every metric that one of the versions has, by name. */
export function metricNames(versions: readonly ModelVersion[]): string[] {
  return [...new Set(versions.flatMap((version) => Object.keys(version.metrics)))].sort(byName);
}

/** Those shown as columns: the ones that the address names, or the first few. */
export function chosenMetrics(known: readonly string[], chosen: string | undefined): string[] {
  if (chosen === undefined) return known.slice(0, SHOWN);
  const names = new Set(chosen.split(",").map(decodeURIComponent));
  return known.filter((name) => names.has(name));
}

/** The choice as it stands in the address; a single comma for none. */
export function writeChosen(names: readonly string[]): string {
  return names.map(encodeURIComponent).join(",") || ",";
}
