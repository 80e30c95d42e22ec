/**
 * Cutting large files where the command line would cut them (docs/design/001, Blobs): FastCDC 2020, normalisation
 * level 1, seed 0. A file sent from the page and synced from a folder is thus stored once.
 */
import { createMD5 } from "hash-wasm";
import { DIGEST_SIZE } from "./digest";

/** A file of at most this many bytes is one blob. */
export const WHOLE_MOST = 1 << 20;
export const CHUNK_LEAST = 256 << 10;
export const CHUNK_AVERAGE = 1 << 20;
export const CHUNK_MOST = 4 << 20;

const READ_BYTES = 8 << 20;
// No mask has a bit above the 48th, and sums only carry upwards: two halves of 24 bits are the whole hash.
const HALF = 0xffffff;
const MASK_LOW = 0x537000;
const MASK_HIGH_BEFORE_AVERAGE = 0xd91767;
const MASK_HIGH_BEHIND_AVERAGE = 0xd91707;

/** A number for each byte, in halves: the first eight bytes of the MD5 of that byte repeated 64 times. */
export interface Gear {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

export async function loadGear(): Promise<Gear> {
  const hasher = await createMD5();
  const gear = { low: new Int32Array(256), high: new Int32Array(256) };
  for (let byte = 0; byte < 256; byte++) {
    const [, , a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = hasher
      .init()
      .update(new Uint8Array(64).fill(byte))
      .digest("binary");
    gear.high[byte] = (a << 16) | (b << 8) | c;
    gear.low[byte] = (d << 16) | (e << 8) | f;
  }
  return gear;
}

/** The length of the first chunk. `data` holds at least CHUNK_MOST bytes, or all that is left of the file. */
export function firstCut(data: Uint8Array, gear: Gear): number {
  if (data.length <= CHUNK_LEAST) return data.length;
  const end = Math.min(data.length, CHUNK_MOST);
  // The reference looks at bytes in pairs: an odd last one is never a place to cut.
  const last = end & ~1;
  const middle = Math.min(CHUNK_AVERAGE, last);
  const { low: gearLow, high: gearHigh } = gear;
  let low = 0;
  let high = 0;
  for (let at = CHUNK_LEAST; at < last; at++) {
    const byte = data[at] as number;
    low = (low << 1) + (gearLow[byte] as number);
    high = ((high << 1) + (gearHigh[byte] as number) + (low >> 24)) & HALF;
    low &= HALF;
    const mask = at < middle ? MASK_HIGH_BEFORE_AVERAGE : MASK_HIGH_BEHIND_AVERAGE;
    if ((high & mask) === 0 && (low & MASK_LOW) === 0) return at;
  }
  return end;
}

/** The chunks of a file in order. At most three times CHUNK_MOST of it is in memory. */
export async function* chunksOf(file: Blob, gear: Gear): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array(0);
  let read = 0;
  while (read < file.size || rest.length > 0) {
    if (rest.length < CHUNK_MOST && read < file.size) {
      const more = await readBytes(file, read, Math.min(file.size, read + READ_BYTES));
      read += more.length;
      rest = rest.length ? joined(rest, more) : more;
    }
    const length = firstCut(rest, gear);
    yield rest.subarray(0, length);
    rest = rest.subarray(length);
  }
}

export async function readBytes(file: Blob, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await file.slice(start, end).arrayBuffer());
  if (bytes.length !== end - start) throw new Error("The file became shorter while it was being read.");
  return bytes;
}

/** `"MCL1"`, the number of chunks, their digests, their lengths. */
export function encodeChunkList(digests: readonly Uint8Array[], lengths: readonly number[]): Uint8Array {
  const list = new Uint8Array(8 + digests.length * (DIGEST_SIZE + 4));
  const view = new DataView(list.buffer);
  list.set([0x4d, 0x43, 0x4c, 0x31]);
  view.setUint32(4, digests.length, true);
  digests.forEach((digest, number) => {
    list.set(digest, 8 + number * DIGEST_SIZE);
  });
  const at = 8 + digests.length * DIGEST_SIZE;
  lengths.forEach((length, number) => {
    view.setUint32(at + number * 4, length, true);
  });
  return list;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
