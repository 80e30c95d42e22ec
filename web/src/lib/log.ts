/** A job's log as it grows: bytes come by offset, lines go out. */

export interface Log {
  /** Offset of the first byte held; more than 0 when only the end of a long log was read. */
  readonly start: number;
  /** Offset of the next byte to ask for. */
  readonly next: number;
  readonly lines: readonly string[];
  /** The line under way, without its end. */
  readonly partial: string;
  readonly complete: boolean;
}

export interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
  readonly complete: boolean;
}

const decoder = new TextDecoder();

export function emptyLog(start: number): Log {
  return { start, next: start, lines: [], partial: "", complete: false };
}

export function appendChunk(log: Log, chunk: Chunk): Log {
  const length = chunk.complete ? chunk.bytes.length : wholeCharacters(chunk.bytes);
  const text = log.partial + decoder.decode(chunk.bytes.subarray(0, length));
  const pieces = text.split("\n");
  const partial = pieces.pop() ?? "";
  return {
    start: log.start,
    next: chunk.start + length,
    lines: log.lines.concat(pieces.map(afterReturns)),
    partial,
    complete: chunk.complete,
  };
}

/** All lines to show, the one under way included. */
export function shownLines(log: Log): readonly string[] {
  return log.partial ? [...log.lines, afterReturns(log.partial)] : log.lines;
}

/** How many leading bytes form whole UTF-8 characters: a chunk may end in the middle of one. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** A progress bar overwrites its line after each carriage return: only the last state is shown. */
function afterReturns(line: string): string {
  const states = line.split("\r").filter(Boolean);
  return states.at(-1) ?? "";
}
