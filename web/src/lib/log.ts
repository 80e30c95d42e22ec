/** A window of a job's log: bytes come by offset, before and behind, lines go out. A log may be far longer than it. */

export interface LogLine {
  /** Of its first byte in the log. */
  readonly offset: number;
  readonly text: string;
  /** No output of the job: it says that bytes were left out here. */
  readonly notice?: boolean;
}

export interface Log {
  readonly attempt: number;
  /** Offset of the first byte held; more than 0 when there is something before it. */
  readonly start: number;
  /** Offset of the next byte to ask for. */
  readonly next: number;
  /** How long the whole log was when it was last asked for. */
  readonly size: number;
  readonly lines: readonly LogLine[];
  /** The bytes of the line under way. */
  readonly rest: Uint8Array;
  readonly complete: boolean;
}

export interface Chunk {
  readonly attempt: number;
  readonly begin: number;
  readonly next: number;
  readonly size: number;
  readonly bytes: Uint8Array;
  readonly complete: boolean;
  readonly leftOut: boolean;
}

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array();
const decoder = new TextDecoder();

/** A window that begins with this chunk: at its first whole line, unless it is the log's own beginning. */
export function logFrom(chunk: Chunk): Log {
  const skipped = chunk.begin === 0 || chunk.leftOut ? 0 : chunk.bytes.indexOf(NEWLINE) + 1;
  const begin = chunk.begin + skipped;
  const empty: Log = { ...chunk, start: begin, next: begin, lines: [], rest: NOTHING };
  return appendChunk(empty, { ...chunk, begin, bytes: chunk.bytes.subarray(skipped) });
}

export function appendChunk(log: Log, chunk: Chunk): Log {
  const known = { attempt: chunk.attempt, size: chunk.size, complete: chunk.complete, next: chunk.next };
  if (chunk.leftOut) {
    const lines = [...log.lines, ...underWay(log), notice(chunk)];
    return { ...log, ...known, lines, rest: NOTHING };
  }
  const bytes = joined(log.rest, chunk.bytes);
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  const lines = linesOf(bytes.subarray(0, end), chunk.begin - log.rest.length);
  return { ...log, ...known, lines: log.lines.concat(lines), rest: bytes.slice(end) };
}

/** The window with what lies before it: chunks in order, the last of which ends where the window begins. */
export function prependChunks(log: Log, chunks: readonly Chunk[]): Log {
  const [first, ...more] = chunks;
  if (!first) return log;
  const before = more.reduce(appendChunk, logFrom(first));
  return { ...log, start: before.start, lines: [...before.lines, ...underWay(before), ...log.lines] };
}

/** At most so many lines, the oldest or the newest of them gone. */
export function trimmed(log: Log, most: number, side: "front" | "back"): Log {
  if (log.lines.length <= most) return log;
  if (side === "front") {
    const lines = log.lines.slice(-most);
    return { ...log, lines, start: lines[0]?.offset ?? log.start };
  }
  const next = log.lines[most]?.offset ?? log.next;
  return { ...log, lines: log.lines.slice(0, most), next, rest: NOTHING, complete: false };
}

/** All lines to show, the one under way included. */
export function shownLines(log: Log): readonly LogLine[] {
  return log.rest.length > 0 ? [...log.lines, ...underWay(log)] : log.lines;
}

/** Whether the window reaches to where the log ended when it was last asked for. */
export function isAtEnd(log: Log): boolean {
  return log.next >= log.size;
}

/** The index of the line that holds this offset; -1 if the window does not. */
export function indexOf(lines: readonly LogLine[], offset: number, end: number): number {
  const first = lines[0];
  if (!first || offset < first.offset || offset >= end) return -1;
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle]?.offset ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function underWay(log: Log): LogLine[] {
  if (log.rest.length === 0) return [];
  return [{ offset: log.next - log.rest.length, text: afterReturns(decoder.decode(log.rest)) }];
}

function notice(chunk: Chunk): LogLine {
  return { offset: chunk.begin, text: decoder.decode(chunk.bytes).trim(), notice: true };
}

function linesOf(bytes: Uint8Array, begin: number): LogLine[] {
  const lines: LogLine[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(NEWLINE, at);
    lines.push({ offset: begin + at, text: afterReturns(decoder.decode(bytes.subarray(at, end))) });
    at = end + 1;
  }
  return lines;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** A progress bar overwrites its line after each carriage return: only the last state is shown. */
function afterReturns(line: string): string {
  const states = line.split("\r").filter(Boolean);
  return states.at(-1) ?? "";
}
