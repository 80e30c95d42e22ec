/**
 * Changes to the text of a `flow.yaml`, each as small as it can be: what a change does not touch keeps its comments, quotes,
 * blank lines and order, because the text is patched and never written from its values again.
 */
import { isCollection, isMap, isScalar, isSeq, type Pair, Scalar, stringify, type YAMLMap } from "yaml";
import { parsed } from "./parsing";

export type Path = readonly string[];
type Mapping = YAMLMap<unknown, unknown>;
type Ranged = { range?: [number, number, number] | null };

/** The text with `value` at `path`; mappings on the way are made where they are missing. */
export function setIn(text: string, path: Path, value: unknown): string {
  let map = topOf(text);
  if (!map) return `${withNewline(text)}${pairText("", path, 0, value)}`;
  for (let depth = 0; depth < path.length; depth++) {
    const pair = pairOf(map, path[depth] as string);
    if (!pair) return insertPair(text, map, path, depth, value);
    const item = itemOf(pair.value, path[depth + 1]);
    if (item) {
      map = item;
      depth++;
      continue;
    }
    const isLast = depth === path.length - 1;
    if (isLast) return replaceValue(text, map, pair, path, value);
    // An empty `{}` is written anew, so that what it gets stands on lines of its own.
    if (!isMap(pair.value) || pair.value.items.length === 0)
      return replacePair(text, map, pair, path.slice(0, depth + 1), nested(path, depth, value));
    map = pair.value as Mapping;
  }
  return text;
}

/** The mapping at a place of a list; undefined where there is no list, or something else in it. */
function itemOf(list: unknown, place: string | undefined): Mapping | undefined {
  const item = isSeq(list) && place !== undefined ? list.items[Number(place)] : undefined;
  return isMap(item) ? (item as Mapping) : undefined;
}

/** The text with one more item at the end of a list, which is made where it is missing. */
export function appendItem(text: string, path: Path, value: unknown): string {
  const list = parsed(text).getIn(path);
  const last = isSeq(list) ? (list.items.at(-1) as Ranged | undefined) : undefined;
  if (!isSeq(list) || !last?.range) return setIn(text, path, [value]);
  if (list.flow)
    return replaceRanges(text, [{ from: last.range[1], to: last.range[1], by: `, ${inline(value)}` }]);
  const [start, end] = last.range;
  const indent = (/^\s*/.exec(text.slice(lineStart(text, start))) ?? [""])[0];
  const newline = text[end - 1] === "\n" ? end - 1 : text.indexOf("\n", end);
  const at = newline < 0 ? text.length : newline + 1;
  const before = text[at - 1] === "\n" ? "" : "\n";
  return replaceRanges(text, [{ from: at, to: at, by: `${before}${indent}- ${inline(value)}\n` }]);
}

/** The text with several keys of a mapping at the top set at once: one reading of the text for all of them. */
export function setAll(text: string, key: string, entries: ReadonlyMap<string, unknown>): string {
  const map = mapAt(text, [key]);
  if (!map || map.items.length === 0) return setIn(text, [key], Object.fromEntries(entries));
  const edits: { from: number; to: number; by: string }[] = [];
  const added: string[] = [];
  for (const [name, value] of entries) {
    const node = pairOf(map, name)?.value as Ranged | null | undefined;
    if (node?.range && isOnOneLine(node))
      edits.push({ from: node.range[0], to: node.range[1], by: inline(value) });
    else added.push(`${inline(name)}: ${inline(value)}`);
  }
  if (added.length > 0) edits.push(insertionOf(text, map, added));
  return replaceRanges(text, edits);
}

function insertionOf(text: string, map: Mapping, added: readonly string[]) {
  const last = map.items.at(-1) as Pair;
  if (map.flow) {
    const at = valueEnd(last);
    return { from: at, to: at, by: added.map((one) => `, ${one}`).join("") };
  }
  const at = pairEnd(text, last);
  const indent = indentAt(text, keyStart(map.items[0] as Pair));
  const before = text[at - 1] === "\n" ? "" : "\n";
  return { from: at, to: at, by: before + added.map((one) => `${indent}${one}\n`).join("") };
}

/** The text without what stands at `path`. A mapping that would be left empty goes, too. */
export function deleteIn(text: string, path: Path): string {
  const map = mapAt(text, path.slice(0, -1));
  const pair = map && pairOf(map, path.at(-1) as string);
  if (!map || !pair) return text;
  if (map.items.length === 1 && path.length > 1) return deleteIn(text, path.slice(0, -1));
  return map.flow
    ? cutFlowItem(text, map.items, map.items.indexOf(pair))
    : cutLines(text, keyStart(pair), pairEnd(text, pair));
}

/** The text without one item of a list. A list that would be left empty goes, too. */
export function deleteItem(text: string, path: Path, index: number): string {
  const list = parsed(text).getIn(path);
  if (!isCollection(list) || isMap(list) || !list.items[index]) return text;
  if (list.items.length === 1) return deleteIn(text, path);
  const items = list.items as Ranged[];
  if (list.flow) return cutFlowItem(text, items, index);
  const [start, end] = (items[index] as Ranged).range as [number, number, number];
  return cutLines(text, start, end);
}

/** The text with another name for the key at `path`; its place and its value stay. */
export function renameKey(text: string, path: Path, to: string): string {
  const map = mapAt(text, path.slice(0, -1));
  const pair = map && pairOf(map, path.at(-1) as string);
  const range = (pair?.key as Ranged | undefined)?.range;
  return range ? replaceRanges(text, [{ from: range[0], to: range[1], by: inline(to) }]) : text;
}

/** Replace several stretches of a text at once; they may come in any order. */
export function replaceRanges(
  text: string,
  edits: readonly { from: number; to: number; by: string }[],
): string {
  const last = [...edits].sort((a, b) => b.from - a.from);
  return last.reduce((done, { from, to, by }) => done.slice(0, from) + by + done.slice(to), text);
}

/** A value on one line: `0.5`, `xray@main`, `{lr: [0.1, 0.01]}`. */
export function inline(value: unknown): string {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

function topOf(text: string): Mapping | null {
  const top = parsed(text).contents;
  return isMap(top) ? (top as Mapping) : null;
}

function mapAt(text: string, path: Path): Mapping | null {
  const found = path.length === 0 ? parsed(text).contents : parsed(text).getIn(path);
  return isMap(found) ? (found as Mapping) : null;
}

function pairOf(map: Mapping, key: string): Pair | undefined {
  return map.items.find((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === key);
}

function nested(path: Path, depth: number, value: unknown): unknown {
  return path.slice(depth + 1).reduceRight((inner, key) => ({ [key]: inner }), value);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function replaceValue(text: string, map: Mapping, pair: Pair, path: Path, value: unknown): string {
  if (isMap(pair.value) && isPlain(value) && Object.keys(value).length > 0)
    return mergeMap(text, pair.value as Mapping, path, value);
  const node = pair.value as Ranged | null;
  if (!node?.range || !isOnOneLine(node) || node.range[0] === node.range[1])
    return replacePair(text, map, pair, path, value);
  return replaceRanges(text, [{ from: node.range[0], to: node.range[1], by: inline(value) }]);
}

function isOnOneLine(node: unknown): boolean {
  return isScalar(node) ? !isBlockScalar(node) : isCollection(node) && node.flow === true;
}

function isBlockScalar(node: Scalar): boolean {
  return node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED;
}

/** Keys one by one, so that the lines of those that stay the same are not touched. */
function mergeMap(text: string, map: Mapping, path: Path, value: Record<string, unknown>): string {
  const present = map.toJSON() as Record<string, unknown>;
  let done = text;
  for (const [key, one] of Object.entries(value)) {
    if (JSON.stringify(present[key]) !== JSON.stringify(one)) done = setIn(done, [...path, key], one);
  }
  for (const key of Object.keys(present)) if (!(key in value)) done = deleteIn(done, [...path, key]);
  return done;
}

function replacePair(text: string, map: Mapping, pair: Pair, path: Path, value: unknown): string {
  const from = keyStart(pair);
  if (map.flow)
    return replaceRanges(text, [{ from, to: valueEnd(pair), by: `${path.at(-1)}: ${inline(value)}` }]);
  const written = pairText(indentAt(text, from), path, path.length - 1, value);
  return replaceRanges(text, [{ from: lineStart(text, from), to: pairEnd(text, pair), by: written }]);
}

function insertPair(text: string, map: Mapping, path: Path, depth: number, value: unknown): string {
  const last = map.items.at(-1);
  const inner = nested(path, depth, value);
  if (map.flow) {
    const at = last ? valueEnd(last) : ((map as Ranged).range?.[0] ?? 0) + 1;
    return replaceRanges(text, [
      { from: at, to: at, by: `${last ? ", " : ""}${path[depth]}: ${inline(inner)}` },
    ]);
  }
  const first = map.items[0];
  const indent = first ? indentAt(text, keyStart(first)) : "";
  const above = depth === 0 ? placeAtTop(text, map, path[0] as string) : undefined;
  const at = above ?? (last ? pairEnd(text, last) : text.length);
  const before = at > 0 && text[at - 1] !== "\n" ? "\n" : "";
  return replaceRanges(text, [
    { from: at, to: at, by: before + pairText(indent, path.slice(0, depth + 1), depth, inner) },
  ]);
}

/** The order in which people expect the keys of a flow. */
const TOP = [
  "schema",
  "name",
  "description",
  "params",
  "defaults",
  "concurrency",
  "max_parallel",
  "on_failure",
  "steps",
  "publish",
  "triggers",
  "run_as",
  "ui",
];

/** Before the first key that comes after `key`, and before the comment above that; undefined: at the end. */
function placeAtTop(text: string, map: Mapping, key: string): number | undefined {
  const place = TOP.indexOf(key);
  const next = map.items.find(
    (pair) => TOP.indexOf(String(isScalar(pair.key) ? pair.key.value : "")) > place,
  );
  if (place < 0 || !next) return undefined;
  let at = lineStart(text, keyStart(next));
  while (at > 0 && /^[ \t]*#/.test(text.slice(lineStart(text, at - 1), at))) at = lineStart(text, at - 1);
  return at;
}

/** How many levels of mappings below a key stand on lines of their own; deeper ones stand on one line. */
function blockLevels(path: Path): number {
  if (path[0] === "steps") return Math.max(0, 3 - path.length);
  return ["params", "ui"].includes(path[0] as string) && path.length === 1 ? 1 : 0;
}

/** `path[depth]` and its value as whole lines. */
function pairText(indent: string, path: Path, depth: number, value: unknown): string {
  return written(
    indent,
    path[depth] as string,
    nested(path, depth, value),
    blockLevels(path.slice(0, depth + 1)),
  );
}

function written(indent: string, key: string, value: unknown, levels: number): string {
  const name = inline(key);
  if (isPlain(value) && levels > 0 && Object.keys(value).length > 0) {
    const inside = Object.entries(value).map(([one, inner]) =>
      written(`${indent}  `, one, inner, levels - 1),
    );
    return `${indent}${name}:\n${inside.join("")}`;
  }
  if (Array.isArray(value) && value.some(isPlain)) {
    return `${indent}${name}:\n${value.map((one) => `${indent}  - ${inline(one)}\n`).join("")}`;
  }
  return `${indent}${name}: ${inline(value)}\n`;
}

function keyStart(pair: Pair): number {
  return (pair.key as Ranged).range?.[0] ?? 0;
}

/** Where the value ends, or the colon of a key without one. */
function valueEnd(pair: Pair): number {
  return (pair.value as Ranged | null)?.range?.[1] ?? ((pair.key as Ranged).range?.[1] ?? 0) + 1;
}

/** Behind the last line of a pair of a block mapping, comments on that line included. */
function pairEnd(text: string, pair: Pair): number {
  const end = valueEnd(pair);
  if (end > 0 && text[end - 1] === "\n") return end;
  const newline = text.indexOf("\n", end);
  return newline < 0 ? text.length : newline + 1;
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

function indentAt(text: string, at: number): string {
  return " ".repeat(at - lineStart(text, at));
}

function cutLines(text: string, start: number, end: number): string {
  const from = lineStart(text, start);
  const newline = text[end - 1] === "\n" ? end : text.indexOf("\n", end) + 1;
  return text.slice(0, from) + text.slice(newline > 0 ? newline : text.length);
}

function cutFlowItem(text: string, items: readonly unknown[], index: number): string {
  const next = items[index + 1];
  const before = items[index - 1];
  if (before) return text.slice(0, endOf(before)) + text.slice(endOf(items[index]));
  return text.slice(0, startOf(items[index])) + text.slice(next ? startOf(next) : endOf(items[index]));
}

function startOf(item: unknown): number {
  const one = item as Pair & Ranged;
  return one.range?.[0] ?? keyStart(one);
}

function endOf(item: unknown): number {
  const one = item as Pair & Ranged;
  return one.range?.[1] ?? valueEnd(one);
}

function withNewline(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
