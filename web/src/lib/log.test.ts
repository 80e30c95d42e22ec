import { expect, it } from "vitest";
import {
  appendChunk,
  type Chunk,
  indexOf,
  isAtEnd,
  type Log,
  logFrom,
  prependChunks,
  shownLines,
  trimmed,
} from "./log";

const encoder = new TextEncoder();

function chunk(begin: number, text: string | Uint8Array, more: Partial<Chunk> = {}): Chunk {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  const next = begin + bytes.length;
  return { attempt: 1, begin, next, size: next, bytes, complete: false, leftOut: false, ...more };
}

const texts = (log: Log) => shownLines(log).map((line) => line.text);

it("joins a line that came in two chunks", () => {
  const log = appendChunk(logFrom(chunk(0, "one\ntw")), chunk(6, "o\nthree"));
  expect(texts(log)).toEqual(["one", "two", "three"]);
  expect(shownLines(log).map((line) => line.offset)).toEqual([0, 4, 8]);
  expect(log.next).toBe(13);
});

it("joins a character cut in two, and shows bytes that are none", () => {
  const bytes = encoder.encode("grün\n");
  expect(texts(appendChunk(logFrom(chunk(0, bytes.subarray(0, 3))), chunk(3, bytes.subarray(3))))).toEqual([
    "grün",
  ]);
  expect(texts(logFrom(chunk(0, new Uint8Array([0x61, 0xff, 0x62, 0x0a]))))).toEqual(["a\ufffdb"]);
});

it("shows only the last state of a progress bar", () => {
  expect(texts(logFrom(chunk(0, "10%\r50%\r100%\ndone\r\n\r\n")))).toEqual(["100%", "done", ""]);
});

it("begins with a whole line in the middle of a log, and goes back from there", () => {
  const whole = "one\ntwo\nthree\nfour\n";
  const log = logFrom(chunk(6, whole.slice(6)));
  expect(texts(log)).toEqual(["three", "four"]);
  expect(log.start).toBe(8);
  const before = prependChunks(log, [chunk(0, whole.slice(0, 8))]);
  expect(texts(before)).toEqual(["one", "two", "three", "four"]);
  expect([before.start, before.next]).toEqual([0, whole.length]);
});

it("says where bytes were left out", () => {
  const gap = chunk(5, "\n[millpond: 95 B were left out here]\n", { next: 100, size: 104, leftOut: true });
  const log = appendChunk(appendChunk(logFrom(chunk(0, "head\n")), gap), chunk(100, "end\n"));
  expect(texts(log)).toEqual(["head", "[millpond: 95 B were left out here]", "end"]);
  expect(shownLines(log)[1]?.notice).toBe(true);
  expect(isAtEnd(log)).toBe(true);
  expect(
    texts(prependChunks(logFrom(chunk(100, "end\n", { leftOut: false })), [chunk(0, "head\n"), gap])),
  ).toEqual(["head", "[millpond: 95 B were left out here]"]);
});

it("keeps a window of a long log", () => {
  const log = logFrom(chunk(0, "a\nb\nc\nd\ne\n"));
  expect(texts(trimmed(log, 2, "front"))).toEqual(["d", "e"]);
  expect(trimmed(log, 2, "front").start).toBe(6);
  const front = trimmed(log, 2, "back");
  expect([texts(front), front.next, isAtEnd(front)]).toEqual([["a", "b"], 4, false]);
});

it("finds the line of an offset", () => {
  const { lines, next } = logFrom(chunk(0, "one\ntwo\nthree\n"));
  expect([0, 3, 4, 13].map((offset) => indexOf(lines, offset, next))).toEqual([0, 0, 1, 2]);
  expect(indexOf(lines, 14, next)).toBe(-1);
});
