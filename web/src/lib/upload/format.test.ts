import { beforeAll, expect, it } from "vitest";
import { chunksOf, encodeChunkList, type Gear, loadGear } from "./chunks";
import { type Digest, loadDigest, toHex } from "./digest";
import { PackWriter } from "./pack";
import vectors from "./vectors.json";

let digest: Digest;
let gear: Gear;

beforeAll(async () => {
  digest = await loadDigest();
  gear = await loadGear();
});

/** The same bytes as `noise` of tests/unit/lake/test_page_vectors.py: xorshift32. */
function noise(seed: number, length: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = seed;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

const fromHex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));

it.each(vectors.digests)("names blobs as the lake does: $digest", ({ data, digest: expected }) => {
  expect(toHex(digest(fromHex(data)))).toBe(expected);
});

it.each(vectors.cuts)("cuts $repeat × $length bytes where the command line does", async (vector) => {
  const part = noise(vector.seed, vector.length);
  const file = new Blob(Array.from({ length: vector.repeat }, () => part));
  const digests: Uint8Array[] = [];
  const lengths: number[] = [];
  for await (const chunk of chunksOf(file, gear)) {
    digests.push(digest(chunk));
    lengths.push(chunk.length);
  }
  expect(lengths).toEqual(vector.chunks);
  expect(toHex(digest(encodeChunkList(digests, lengths)))).toBe(vector.list);
});

it.each(vectors.packs)("packs blobs byte for byte", async ({ blobs, pack }) => {
  const writer = new PackWriter();
  for (const blob of blobs.map(fromHex)) writer.add(digest(blob), blob);
  const finished = new Uint8Array(await writer.finish(digest).arrayBuffer());
  expect(toHex(finished)).toBe(pack);
  expect(finished.length).toBe(writer.size);
});

it("closes a pack before it is larger than it shall be, but takes any first blob", () => {
  const writer = new PackWriter();
  expect(writer.fits(40 << 20)).toBe(true);
  writer.add(new Uint8Array(32), new Uint8Array(5 << 20));
  expect(writer.fits(1 << 20)).toBe(true);
  expect(writer.fits(4 << 20)).toBe(false);
});
