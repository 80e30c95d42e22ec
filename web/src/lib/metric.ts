/** Numbers of metrics as people read them, and which keys belong together. */
import type { Series } from "../api/shapes";

/** Four significant digits, without trailing zeros. */
export function formatMetric(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** A number of the wire, where NaN and the infinities are words; `–` for none. */
export function formatNumber(value: Series["values"][number] | null | undefined): string {
  if (value == null) return "–";
  return typeof value === "number" ? formatMetric(value) : value.replace("Infinity", "∞");
}

/** Keys that are drawn in one chart: `loss` with `val_loss`, `train/acc` with `test/acc`. */
export interface KeyGroup {
  /** The key without what says which data it was measured on. */
  readonly name: string;
  readonly keys: readonly string[];
}

/** Charts under one heading: what stands before the first `/` of their names, or nothing. */
export interface Section {
  readonly name: string;
  readonly groups: readonly KeyGroup[];
}

const SPLIT = /^(train|training|val|valid|validation|test|eval)[_/.-](?=.)/i;
// A whole word behind the key says the same: `accuracy/val`.
const SPLIT_BEHIND = /(?<=.)[/.](train|training|val|valid|validation|test|eval)$/i;
const KINDS = ["", "train", "val", "test"];

/** `val_loss` → `loss`; a key that begins with nothing of the kind stays as it is. */
export function baseOf(key: string): string {
  const base = key.replace(SPLIT, "");
  return base === key ? key.replace(SPLIT_BEHIND, "") : base;
}

/** Which data a key was measured on, as far as its name says: 0 unsaid, 1 training, 2 validation, 3 test. */
export function splitOf(key: string): number {
  const word = (SPLIT.exec(key) ?? SPLIT_BEHIND.exec(key))?.[1]?.toLowerCase() ?? "";
  return Math.max(
    0,
    KINDS.findIndex((kind) => kind !== "" && word.startsWith(kind)),
    word.startsWith("eval") ? 2 : 0,
  );
}

/** Keys by chart, charts by section; both by name, but first what has no section, and charts of several keys. */
export function sectionsOf(keys: readonly string[]): Section[] {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const base = baseOf(key);
    groups.set(base, [...(groups.get(base) ?? []), key]);
  }
  const sections = new Map<string, KeyGroup[]>();
  for (const name of [...groups.keys()].sort(
    (a, b) => worthOf(groups, b) - worthOf(groups, a) || byName(a, b),
  )) {
    const slash = name.indexOf("/");
    const section = slash > 0 ? name.slice(0, slash) : "";
    const sorted = (groups.get(name) ?? []).sort((a, b) => splitOf(a) - splitOf(b) || byName(a, b));
    sections.set(section, [...(sections.get(section) ?? []), { name, keys: sorted }]);
  }
  return [...sections.keys()].sort(byName).map((name) => ({ name, groups: sections.get(name) ?? [] }));
}

/** What was measured on several kinds of data is what people look for first. */
function worthOf(groups: ReadonlyMap<string, readonly string[]>, name: string): number {
  return (groups.get(name)?.length ?? 0) > 1 ? 1 : 0;
}

const collator = new Intl.Collator("en", { numeric: true });

export function byName(a: string, b: string): number {
  return collator.compare(a, b);
}
