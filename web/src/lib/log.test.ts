import { expect, it } from "vitest";
import { appendChunk, emptyLog, type Log, shownLines } from "./log";

const encoder = new TextEncoder();

function read(log: Log, text: string | Uint8Array, complete = false): Log {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  return appendChunk(log, { start: log.next, bytes, complete });
}

it("joins a line that came in two chunks", () => {
  const log = read(read(emptyLog(0), "one\ntw"), "o\nthree");
  expect(shownLines(log)).toEqual(["one", "two", "three"]);
  expect(log.next).toBe(13);
});

it("asks again for the bytes of a character cut in two", () => {
  const bytes = encoder.encode("grün\n");
  const first = read(emptyLog(0), bytes.subarray(0, 3));
  expect(shownLines(first)).toEqual(["gr"]);
  expect(first.next).toBe(2);
  expect(shownLines(read(first, bytes.subarray(first.next)))).toEqual(["grün"]);
});

it("does not wait for ever for bytes that are not UTF-8", () => {
  const log = read(emptyLog(0), new Uint8Array([0x61, 0xff, 0x62, 0x0a]));
  expect(log.next).toBe(4);
  expect(shownLines(log)).toEqual(["a\ufffdb"]);
  expect(read(emptyLog(0), new Uint8Array([0xe2, 0x82]), true).next).toBe(2);
});

it("shows only the last state of a progress bar", () => {
  const log = read(emptyLog(0), "10%\r50%\r100%\ndone\r\n\r\n");
  expect(shownLines(log)).toEqual(["100%", "done", ""]);
});
