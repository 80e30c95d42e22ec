/** The rows of a comparison of two versions. */
import type { ModelComparison } from "../../../api/shapes";
import { formatMetric, formatNumber } from "../../../lib/metric";

type Difference = ModelComparison["metrics"][number];

export interface ValueRow {
  readonly key: string;
  /** Null: that version does not have it. */
  readonly before: string | null;
  readonly after: string | null;
  readonly differs: boolean;
  /** In words: by how much a number changed, or what happened. */
  readonly change: string;
}

/** With `all`, values that are equal, too. */
export function valueRows(differences: readonly Difference[], all: boolean): ValueRow[] {
  return differences
    .filter((one) => all || one.differs)
    .map(({ key, before, after, differs }) => ({
      key,
      before: written(before),
      after: written(after),
      differs,
      change: changeOf(before, after, differs),
    }));
}

/** Commits that one or both versions were made from, a row for each dataset. */
export function inputRows(before: readonly string[], after: readonly string[], all: boolean): ValueRow[] {
  const [old, fresh] = [byDataset(before), byDataset(after)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  return names.flatMap((key) => {
    const sides = [old.get(key) ?? null, fresh.get(key) ?? null] as const;
    const differs = sides[0] !== sides[1];
    if (!differs && !all) return [];
    return { key, before: sides[0], after: sides[1], differs, change: changeOf(...sides, differs) };
  });
}

function byDataset(inputs: readonly string[]): Map<string, string> {
  return new Map(inputs.map((written) => [written.replace(/@[^@]*$/, ""), written]));
}

function written(value: Difference["before"]): string | null {
  if (value == null) return null;
  return typeof value === "number" ? formatNumber(value) : String(value);
}

function changeOf(before: Difference["before"], after: Difference["before"], differs: boolean): string {
  if (!differs) return "";
  if (before == null) return "added";
  if (after == null) return "removed";
  if (typeof before !== "number" || typeof after !== "number") return "changed";
  const by = after - before;
  return `${by > 0 ? "+" : "−"}${formatMetric(Math.abs(by))}`;
}
