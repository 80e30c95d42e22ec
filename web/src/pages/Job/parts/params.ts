/** Parameters of a job that is being written: part of its command, and several values of one make a grid of jobs. */
import { shellQuote } from "../../../lib/names";
import { valuesOf, wordsOf } from "../../Search/parts/searchDraft";

/** A row of a form: a variable or a parameter with its value, as text. */
export interface Pair {
  readonly key: string;
  readonly value: string;
}

type ParamValue = string | number | boolean;

const LISTED = /(?:^|\s)--?[A-Za-z][\w.-]*[=\s]\s*[^\s,'"$`;|&]+,[^\s'"$`;|&]+/;

/** Those that have a name, without blanks around it. */
export function namedOf(pairs: readonly Pair[]): Pair[] {
  return pairs
    .map(({ key, value }) => ({ key: key.trim(), value: value.trim() }))
    .filter(({ key }) => key !== "");
}

/** The values of a parameter: several with commas between. A list in brackets or a text in quotes is one. */
export function paramValues(text: string): ParamValue[] {
  const written = text.trim();
  if (/^[[{]/.test(written)) return [written];
  const quoted = /^"([^"]*)"$|^'([^']*)'$/.exec(written);
  if (quoted) return [quoted[1] ?? quoted[2] ?? ""];
  return valuesOf(written);
}

export function isGrid(params: readonly Pair[]): boolean {
  return namedOf(params).some(({ value }) => paramValues(value).length > 1);
}

/** True if an option of the command has several values with commas between, which may be meant as a grid. */
export function listsValues(command: string): boolean {
  return LISTED.test(command);
}

/** Of parameters with one value each, as the run records them. */
export function paramsOf(params: readonly Pair[]): Record<string, ParamValue> {
  return Object.fromEntries(namedOf(params).map(({ key, value }) => [key, paramValues(value)[0] ?? ""]));
}

/** The words of a command with its parameters: where `{name}` stands, else as `--name VALUE` behind it. */
export function commandWith(command: string, params: readonly Pair[]): string[] {
  const named = namedOf(params);
  const words = wordsOf(
    command,
    named.map(({ key }) => key),
  );
  if (words === null) return [];
  const [shell, flag, script] = words;
  const isScript = shell === "sh" && flag === "-c" && words.length === 3;
  const fill = (text: string, write: (value: string) => string) =>
    named.reduce((filled, { key, value }) => filled.replaceAll(`{${key}}`, write(plain(value))), text);
  const missing = named.filter(({ key }) => !words.some((word) => word.includes(`{${key}}`)));
  if (isScript && script !== undefined) {
    const behind = missing.map(({ key, value }) => ` --${key} ${shellQuote(plain(value))}`).join("");
    return ["sh", "-c", fill(script, shellQuote) + behind];
  }
  const behind = missing.flatMap(({ key, value }) => [`--${key}`, plain(value)]);
  return [...words.map((word) => fill(word, (value) => value)), ...behind];
}

/** Parameters of an earlier job that stand in its command as `--name VALUE`: taken out of it, to be changed as such. */
export function takenOut(
  command: readonly string[],
  params: Readonly<Record<string, unknown>>,
): { command: string[]; params: Pair[]; kept: Record<string, unknown> } {
  const words = [...command];
  const found: Pair[] = [];
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(params)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const at = words.findIndex((word, place) => word === `--${key}` && words[place + 1] === text);
    if (at < 0) kept[key] = value;
    else {
      words.splice(at, 2);
      found.push({ key, value: /^\[|^{/.test(text) || !text.includes(",") ? text : `"${text}"` });
    }
  }
  return { command: words, params: found, kept };
}

/** Without the quotes that keep its commas together. */
function plain(value: string): string {
  return (
    /^"([^"]*)"$|^'([^']*)'$/
      .exec(value)
      ?.slice(1)
      .find((part) => part !== undefined) ?? value
  );
}
