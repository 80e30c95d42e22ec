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
  for (const item of items) puts.push(await putOf(item, packer, tools.gear, meter));
  await packer.finish();
  const parts = inParts(puts);
  let commit = "";
  for (const [number, part] of parts.entries()) {
    commit = await server.commit(part, { number: number + 1, of: parts.length });
  }
  return commit;
}

async function putOf({ path, file }: Item, packer: Packer, gear: Gear, meter: Meter): Promise<EditPut> {
  const text = toTextForm(path);
  if (!file) return { path: text, kind: "directory", size: 0, content: "nothing" };
  const counting = new Counting(meter);
  try {
    const content = await contentOf(file, packer, gear, counting);
    counting.whole();
    return { path: text, kind: "file", size: file.size, ...content };
  } catch (error) {
    throw isUnreadable(error) ? new UnreadableFile(path, error) : error;
  }
}

async function contentOf(
  file: File,
  packer: Packer,
  gear: Gear,
  waiter: Waiter,
): Promise<Pick<EditPut, "content" | "digest">> {
  if (file.size === 0) return { content: "nothing" };
  if (file.size <= WHOLE_MOST) {
    const digest = await packer.add(await readBytes(file, 0, file.size), waiter);
    return { content: "blob", digest: toHex(digest) };
  }
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
