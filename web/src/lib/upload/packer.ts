/** Sends blobs: asks which are missing, fills packs with those, and has a bounded number of packs under way. */
import { DIGEST_SIZE, type Digest, toHex } from "./digest";
import { PackWriter } from "./pack";

const SENDERS = 3;
const ASK_DIGESTS = 2000;
const ASK_BYTES = 8 << 20;

/** The server's side of an upload, as far as blobs are concerned. Each call tries again for as long as it helps. */
export interface BlobServer {
  /** One byte for each digest: 1 if the project lacks it. */
  missing(digests: Uint8Array): Promise<Uint8Array>;
  /** Resolves when the pack is written and the server knows what is in it. */
  sendPack(pack: Blob, sent: (bytes: number) => void): Promise<void>;
}

/** Told about one file's blobs: each counts once, when the server has it. */
export interface Waiter {
  begin(bytes: number): void;
  safe(bytes: number): void;
}

interface Waiting {
  digest: Uint8Array;
  data: Uint8Array;
  waiter: Waiter;
}

export class Packer {
  private writer = new PackWriter();
  private packed: Waiting[] = [];
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private readonly asked = new Set<string>();
  private readonly sending = new Set<Promise<void>>();
  private failure: { reason: unknown } | null = null;

  constructor(
    private readonly server: BlobServer,
    private readonly digest: Digest,
    private readonly sent: (bytes: number) => void,
  ) {}

  /** Take a blob; resolves when there is room for the next. Returns its digest. */
  async add(data: Uint8Array, waiter: Waiter): Promise<Uint8Array> {
    const digest = this.digest(data);
    const name = toHex(digest);
    waiter.begin(data.length);
    if (this.asked.has(name)) {
      waiter.safe(data.length);
      return digest;
    }
    this.asked.add(name);
    this.waiting.push({ digest, data, waiter });
    this.waitingBytes += data.length;
    if (this.waiting.length >= ASK_DIGESTS || this.waitingBytes >= ASK_BYTES) await this.packMissing();
    return digest;
  }

  /** Send what is left, and wait until the server has all of it. */
  async finish(): Promise<void> {
    await this.packMissing();
    await this.send();
    await this.leave(0);
  }

  private async packMissing(): Promise<void> {
    const waiting = this.waiting;
    this.waiting = [];
    this.waitingBytes = 0;
    if (waiting.length === 0) return;
    const digests = new Uint8Array(waiting.length * DIGEST_SIZE);
    waiting.forEach(({ digest }, number) => {
      digests.set(digest, number * DIGEST_SIZE);
    });
    const missing = await this.server.missing(digests);
    for (const [number, blob] of waiting.entries()) {
      if (missing[number] === 0) {
        blob.waiter.safe(blob.data.length);
        continue;
      }
      if (!this.writer.fits(blob.data.length)) await this.send();
      this.writer.add(blob.digest, blob.data);
      this.packed.push(blob);
    }
  }

  private async send(): Promise<void> {
    if (this.writer.count === 0) return;
    const [pack, packed] = [this.writer.finish(this.digest), this.packed];
    this.writer = new PackWriter();
    this.packed = [];
    await this.leave(SENDERS - 1);
    const sending = this.server.sendPack(pack, this.sent).then(
      () => {
        for (const { data, waiter } of packed) waiter.safe(data.length);
      },
      (reason) => {
        this.failure ??= { reason };
      },
    );
    this.sending.add(sending);
    void sending.then(() => this.sending.delete(sending));
  }

  /** Until at most `most` packs are under way; what went wrong with any of them is thrown here. */
  private async leave(most: number): Promise<void> {
    while (this.sending.size > most && !this.failure) await Promise.race(this.sending);
    if (this.failure) throw this.failure.reason;
  }
}
