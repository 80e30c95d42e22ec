/** Many blobs in one object that ends with its own index (docs/design/001, Packs). The page stores them raw. */
import { DIGEST_SIZE, type Digest } from "./digest";

/** Small enough that a cut connection costs little, large enough that thousands of files are few requests. */
export const PACK_TARGET = 8 << 20;

const TRAILER_SIZE = 44;
const ROW_SIZE = DIGEST_SIZE + 4 + 4 + 4 + 1;

/** Builds one pack. The caller asks `fits` before it adds, and adds no blob twice. */
export class PackWriter {
  private readonly digests: Uint8Array[] = [];
  private readonly blobs: Uint8Array[] = [];
  private bodySize = 0;

  get count(): number {
    return this.digests.length;
  }

  /** Bytes of the pack if it were finished now. */
  get size(): number {
    return this.bodySize + this.count * ROW_SIZE + TRAILER_SIZE;
  }

  /** Whether a blob still fits below the target; an empty pack takes any. */
  fits(length: number): boolean {
    return this.count === 0 || this.size + ROW_SIZE + length <= PACK_TARGET;
  }

  add(digest: Uint8Array, blob: Uint8Array): void {
    this.digests.push(digest);
    this.blobs.push(blob);
    this.bodySize += blob.length;
  }

  /** The whole pack; the blobs in it are not copied. */
  finish(digest: Digest): Blob {
    const index = this.index();
    const trailer = new Uint8Array(TRAILER_SIZE);
    const view = new DataView(trailer.buffer);
    view.setUint32(0, this.count, true);
    view.setUint32(4, index.length, true);
    trailer.set(digest(index), 8);
    trailer.set([0x4d, 0x50, 0x4b, 0x31], 40);
    return new Blob([...this.blobs, index, trailer] as BlobPart[]);
  }

  /** All digests, all offsets, all stored lengths, all raw lengths, all encodings (0: raw). */
  private index(): Uint8Array {
    const index = new Uint8Array(this.count * ROW_SIZE);
    const view = new DataView(index.buffer);
    const offsets = this.count * DIGEST_SIZE;
    let offset = 0;
    this.blobs.forEach((blob, number) => {
      index.set(this.digests[number] as Uint8Array, number * DIGEST_SIZE);
      const at = offsets + number * 4;
      view.setUint32(at, offset, true);
      view.setUint32(at + this.count * 4, blob.length, true);
      view.setUint32(at + this.count * 8, blob.length, true);
      offset += blob.length;
    });
    return index;
  }
}
