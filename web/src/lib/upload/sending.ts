/** One upload from its first file to its commit. Knows nothing of workers or of how requests travel. */
import type { components } from "../../api/schema";
import { chunksOf, encodeChunkList, type Gear, readBytes, WHOLE_MOST } from "./chunks";
import { type Digest, toHex } from "./digest";
import { type BlobServer, Packer, type Waiter } from "./packer";
import { toTextForm } from "./paths";

export type EditPut = components["schemas"]["EditPut"];

/** What one request of edits may hold: the server's limits are 50,000 paths and 16 MiB. */
const PART_PUTS = 50_000;
const PART_BYTES = 12 << 20;

/** Files that are read before their turn: at most as many MiB are in memory for it. */
const READ_AHEAD = 16;

/** One path to put; null is an empty directory. */
export interface Item {
  readonly path: string;
  readonly file: File | null;
}

export interface Progress {
  /** Files and bytes of them that the server has. */
  readonly files: number;
  readonly bytes: number;
  /** Bytes that went over the network; less than `bytes` where the project had content already. */
  readonly sent: number;
}

export interface UploadServer extends BlobServer {
  /** Commit a part of the paths; the id of the commit the branch is at then. */
  commit(puts: readonly EditPut[], part: { number: number; of: number }): Promise<string>;
}

export interface Tools {
  readonly digest: Digest;
  readonly gear: Gear;
}

/** Sends the content of all items, then commits them. What the project has is not sent; only reading costs time. */
export async function sendItems(
  items: readonly Item[],
  server: UploadServer,
  tools: Tools,
  tell: (progress: Progress) => void,
): Promise<string> {
  const meter = new Meter(tell);
  const packer = new Packer(server, tools.digest, (bytes) => meter.add({ sent: bytes }));
  const puts: EditPut[] = [];
  for await (const reading of readAhead(items)) puts.push(await putOf(reading, packer, tools.gear, meter));
  await packer.finish();
  const parts = inParts(puts);
  let commit = "";
  for (const [number, part] of parts.entries()) {
    commit = await server.commit(part, { number: number + 1, of: parts.length });
  }
  return commit;
}

/** An item and, of a file that is one blob, its bytes on their way. */
interface Reading extends Item {
  readonly whole: Promise<Uint8Array> | null;
}

/** Items in their order, with the bytes of small files asked for before they are needed: each costs a round trip. */
async function* readAhead(items: readonly Item[]): AsyncGenerator<Reading> {
  const ahead: Reading[] = [];
  for (const item of items) {
    const { file } = item;
    const isWhole = file !== null && file.size > 0 && file.size <= WHOLE_MOST;
    const whole = isWhole ? readBytes(file, 0, file.size) : null;
    // Whoever comes to this file hears of the error; until then nobody does.
    whole?.catch(() => {});
    ahead.push({ ...item, whole });
    if (ahead.length >= READ_AHEAD) yield ahead.shift() as Reading;
  }
  yield* ahead;
}

async function putOf(reading: Reading, packer: Packer, gear: Gear, meter: Meter): Promise<EditPut> {
  const { path, file } = reading;
  const text = toTextForm(path);
  if (!file) return { path: text, kind: "directory", size: 0, content: "nothing" };
  const counting = new Counting(meter);
  try {
    const content = reading.whole
      ? await wholeOf(await reading.whole, packer, counting)
      : await chunkedOf(file, packer, gear, counting);
    counting.whole();
    return { path: text, kind: "file", size: file.size, ...content };
  } catch (error) {
    throw isUnreadable(error) ? new UnreadableFile(path, error) : error;
  }
}

type Content = Pick<EditPut, "content" | "digest">;

async function wholeOf(data: Uint8Array, packer: Packer, waiter: Waiter): Promise<Content> {
  return { content: "blob", digest: toHex(await packer.add(data, waiter)) };
}

async function chunkedOf(file: File, packer: Packer, gear: Gear, waiter: Waiter): Promise<Content> {
  if (file.size === 0) return { content: "nothing" };
  const digests: Uint8Array[] = [];
  const lengths: number[] = [];
  for await (const chunk of chunksOf(file, gear)) {
    digests.push(await packer.add(chunk, waiter));
    lengths.push(chunk.length);
  }
  const list = encodeChunkList(digests, lengths);
  const digest = await packer.add(list, { begin: () => {}, safe: () => {} });
  return { content: "chunks", digest: toHex(digest) };
}

/** A file that was changed, moved or locked since it was chosen. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";

  constructor(path: string, cause: unknown) {
    super(`The file '${path}' cannot be read: it was changed, moved or locked since it was chosen.`, {
      cause,
    });
  }
}

function isUnreadable(error: unknown): boolean {
  return (
    error instanceof DOMException || (error instanceof Error && error.message.includes("became shorter"))
  );
}

/** Few requests of edits, each within the limits. */
export function inParts(puts: readonly EditPut[]): EditPut[][] {
  const parts: EditPut[][] = [];
  let part: EditPut[] = [];
  let bytes = 0;
  for (const put of puts) {
    // The other fields, with their names, are about 170 characters.
    const size = 3 * put.path.length + 170;
    if (part.length >= PART_PUTS || (part.length > 0 && bytes + size > PART_BYTES)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(put);
    bytes += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

class Meter {
  private now: Progress = { files: 0, bytes: 0, sent: 0 };

  constructor(private readonly tell: (progress: Progress) => void) {}

  add({ files = 0, bytes = 0, sent = 0 }: Partial<Progress>): void {
    const { now } = this;
    this.now = { files: now.files + files, bytes: now.bytes + bytes, sent: now.sent + sent };
    this.tell(this.now);
  }
}

/** Counts a file when it was read to its end and the server has every blob of it. */
class Counting implements Waiter {
  private missing = 0;
  private isWhole = false;

  constructor(private readonly meter: Meter) {}

  begin(bytes: number): void {
    this.missing += bytes;
  }

  safe(bytes: number): void {
    this.missing -= bytes;
    this.meter.add({ bytes, files: this.isWhole && this.missing === 0 ? 1 : 0 });
  }

  whole(): void {
    this.isWhole = true;
    if (this.missing === 0) this.meter.add({ files: 1 });
  }
}
