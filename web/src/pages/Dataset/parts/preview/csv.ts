/** Tables as text (RFC 4180 and its relatives), read a part at a time: rows know where in the file they end. */

const NEWLINE = 10;
const RETURN = 13;
const QUOTE = 34;
const DELIMITERS = [",", ";", "\t", "|"];

export interface Rows {
  rows: string[][];
  /** How many of the bytes belong to these rows: the next row begins there. */
  used: number;
}

/** At most `most` whole rows from the beginning of `bytes`; a row that may go on behind them only `atEnd`. */
export function parseRows(bytes: Uint8Array, delimiter: string, most: number, atEnd: boolean): Rows {
  const rows: string[][] = [];
  let used = 0;
  while (rows.length < most && used < bytes.length) {
    const end = rowEnd(bytes, used);
    if (end === null && !atEnd) break;
    const next = end === null ? bytes.length : end + 1;
    const line = new TextDecoder().decode(bytes.subarray(used, end ?? bytes.length));
    used = next;
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    if (text !== "") rows.push(fields(text, delimiter));
  }
  return { rows, used };
}

/** Where the row that begins at `start` has its newline; null if none is there. Newlines in quotes do not count. */
function rowEnd(bytes: Uint8Array, start: number): number | null {
  let quoted = false;
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) quoted = !quoted;
    else if (bytes[at] === NEWLINE && !quoted) return at;
  }
  return null;
}

function fields(line: string, delimiter: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (true) {
    const [value, end] = line[at] === '"' ? quotedField(line, at) : ["", at];
    const stop = line.indexOf(delimiter, end);
    found.push(value + line.slice(end, stop < 0 ? undefined : stop));
    if (stop < 0) return found;
    at = stop + 1;
  }
}

/** The text between quotes, two of which stand for one, and where it ends. */
function quotedField(line: string, start: number): [string, number] {
  let value = "";
  let at = start + 1;
  while (true) {
    const quote = line.indexOf('"', at);
    if (quote < 0) return [value + line.slice(at), line.length];
    value += line.slice(at, quote);
    if (line[quote + 1] !== '"') return [value, quote + 1];
    value += '"';
    at = quote + 2;
  }
}

/** What stands between fields: by the file's name, or what the first line has most of. */
export function delimiterOf(name: string, bytes: Uint8Array): string {
  if (/\.tsv$/i.test(name)) return "\t";
  const end = bytes.findIndex((byte) => byte === NEWLINE || byte === RETURN);
  const line = new TextDecoder().decode(bytes.subarray(0, end < 0 ? Math.min(bytes.length, 4096) : end));
  const outside = line.replace(/"[^"]*"/g, "");
  const counts = DELIMITERS.map((delimiter) => outside.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ",";
}

const TYPES: [string, RegExp][] = [
  ["integer", /^[+-]?\d{1,18}$/],
  ["number", /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(nan|inf(inity)?)$/i],
  ["boolean", /^(true|false)$/i],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["time", /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?$/],
];

/** The type all these values have; empty ones have none. */
export function typeOf(values: string[]): string {
  const told = values.filter((value) => value !== "");
  if (told.length === 0) return "";
  return TYPES.find(([, pattern]) => told.every((value) => pattern.test(value.trim())))?.[0] ?? "text";
}
