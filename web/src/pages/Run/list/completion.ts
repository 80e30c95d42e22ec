/** What can come next in a condition on runs, from what stands before the cursor. */
import type { RunKeys } from "../../../api/shapes";
import { writeKey, writeText } from "./fields";

export interface Completion {
  /** The part of the text that an option takes the place of. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly string[];
}

const TOKEN =
  /'(?:[^'\\]|\\.)*'?|`[^`]*`?|"[^"]*"?|<=|>=|!=|[=<>(),]|[^\s=<>!(),'`"]+(?:`[^`]*`?|"[^"]*"?)?/g;
const ATTRIBUTES = ["name", "state", "experiment", "user", "duration", "started_at", "ended_at", "parent"];
const STATES = ["running", "succeeded", "failed", "cancelled", "lost"];
const NUMERIC = [">", ">=", "<", "<=", "=", "!="];
const WORDS = ["=", "!=", "ilike", "like", "in", "is null", "is not null"];
const MOST = 50;

interface Token {
  text: string;
  at: number;
}

/** For a cursor behind the first `cursor` characters. */
export function completionOf(text: string, cursor: number, keys: RunKeys | undefined): Completion {
  const tokens = tokensOf(text.slice(0, cursor));
  const last = tokens.at(-1);
  const typed = last && last.at + last.text.length === cursor && !/[(),]$/.test(last.text) ? last : null;
  const before = typed ? tokens.slice(0, -1) : tokens;
  const part = typed?.text ?? "";
  const options = optionsBehind(before, keys);
  return {
    from: typed?.at ?? cursor,
    to: typed ? typed.at + restOfWord(text, cursor, typed) : cursor,
    options: ranked(options, part).slice(0, MOST),
  };
}

/** The text with an option in its place, and where the cursor stands then. */
export function complete(text: string, { from, to }: Completion, option: string): [string, number] {
  const behind = text.slice(to);
  const before = `${text.slice(0, from)}${option} `;
  return [before + behind.trimStart(), before.length];
}

/** Words without any sign of a condition are looked for in names. */
export function conditionOf(text: string): string {
  const written = text.trim();
  if (written === "" || /[=<>()'"`]|\b(like|ilike|in|is)\b/i.test(written)) return written;
  return `name ilike ${writeText(`%${written}%`)}`;
}

function tokensOf(text: string): Token[] {
  return [...text.matchAll(TOKEN)].map((match) => ({ text: match[0], at: match.index }));
}

function restOfWord(text: string, cursor: number, typed: Token): number {
  const behind = /^[^\s=<>!(),'`"]*/.exec(text.slice(cursor))?.[0] ?? "";
  return cursor - typed.at + behind.length;
}

function optionsBehind(before: readonly Token[], keys: RunKeys | undefined): string[] {
  const texts = before.map(({ text }) => text.toLowerCase());
  const last = texts.at(-1);
  if (last === undefined || last === "and" || last === "or") return fieldsOf(keys);
  if (last === "(") return texts.at(-2) === "in" ? valuesOf(before.at(-3)?.text, keys) : fieldsOf(keys);
  if (last === ",") return [];
  const isSign = [...NUMERIC, "like", "ilike"].includes(last);
  if (isSign) return valuesOf(before.at(-2)?.text, keys);
  if (last === "in") return ["("];
  if (last === "is") return ["null", "not null"];
  if (isField(last)) return isNumeric(last, texts.at(-2)) ? [...NUMERIC, "is null"] : WORDS;
  if (last === ")" && texts.at(-3) !== undefined && ["min", "max"].includes(texts.at(-4) ?? ""))
    return NUMERIC;
  return ["and", "or"];
}

function isField(text: string): boolean {
  return ATTRIBUTES.includes(text) || /^(params|metrics|tags)\./.test(text);
}

function isNumeric(field: string, before: string | undefined): boolean {
  return (
    field.startsWith("metrics.") || ["duration", "started_at", "ended_at"].includes(field) || before === "("
  );
}

function fieldsOf(keys: RunKeys | undefined): string[] {
  const metrics = (keys?.metrics ?? []).map(({ key }) => `metrics.${writeKey(key)}`);
  return [
    ...(keys?.params ?? []).map(({ key }) => `params.${writeKey(key)}`),
    ...metrics,
    ...ATTRIBUTES,
    ...(keys?.tags ?? []).map(({ key }) => `tags.${writeKey(key)}`),
    ...metrics.flatMap((metric) => [`min(${metric})`, `max(${metric})`]),
  ];
}

function valuesOf(field: string | undefined, keys: RunKeys | undefined): string[] {
  if (field === "state") return STATES.map(writeText);
  if (field === "experiment") return (keys?.experiments ?? []).map(writeText);
  if (field === "user") return (keys?.users ?? []).map(writeText);
  const tag = (keys?.tags ?? []).find(({ key }) => field === `tags.${writeKey(key)}`);
  return (tag?.values ?? []).map(writeText);
}

/** Those that begin so first, then those that have it inside; nothing if it is all there already. */
function ranked(options: readonly string[], part: string): string[] {
  const looked = part.toLowerCase().replace(/^['`"]/, "");
  if (looked === "") return [...options];
  const places = options.map((option) => [option, placeOf(option.toLowerCase(), looked)] as const);
  const found = places.filter(([, place]) => place >= 0).sort((a, b) => a[1] - b[1]);
  const only = found.map(([option]) => option);
  return only.length === 1 && only[0] === part ? [] : only;
}

function placeOf(option: string, looked: string): number {
  const place = option.replace(/^['`"]/, "").indexOf(looked);
  // A key that begins so counts as the beginning.
  const key = option.indexOf(`.${looked}`);
  return place === 0 || key >= 0 ? 0 : place;
}
