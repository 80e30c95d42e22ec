import { beforeAll, expect, it } from "vitest";
import { loadGear } from "./chunks";
import { loadDigest, toHex } from "./digest";
import {
  type EditPut,
  type Item,
  inParts,
  type Progress,
  sendItems,
  type Tools,
  type UploadServer,
} from "./sending";

let tools: Tools;

beforeAll(async () => {
  tools = { digest: await loadDigest(), gear: await loadGear() };
});

/** Keeps the digests of the packs it was sent, as the server would read them from their indexes. */
class FakeServer implements UploadServer {
  readonly has = new Set<string>();
  readonly commits: EditPut[][] = [];
  packs: Blob[] = [];
  underWay = 0;
  mostUnderWay = 0;
  failing: Error | null = null;

  async missing(digests: Uint8Array): Promise<Uint8Array> {
    const count = digests.length / 32;
    const asked = Array.from({ length: count }, (_, number) =>
      digests.subarray(32 * number, 32 * number + 32),
    );
    return Uint8Array.from(asked, (digest) => (this.has.has(toHex(digest)) ? 0 : 1));
  }

  async sendPack(pack: Blob, sent: (bytes: number) => void): Promise<void> {
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    const bytes = new Uint8Array(await pack.arrayBuffer());
    if (this.failing) throw this.failing;
    this.packs.push(pack);
    const view = new DataView(bytes.buffer);
    const [count, length] = [
      view.getUint32(bytes.length - 44, true),
      view.getUint32(bytes.length - 40, true),
    ];
    const index = bytes.length - 44 - length;
    for (let at = 0; at < count; at++)
      this.has.add(toHex(bytes.subarray(index + 32 * at, index + 32 * at + 32)));
    sent(pack.size);
    this.underWay -= 1;
  }

  async commit(puts: readonly EditPut[]): Promise<string> {
    this.commits.push([...puts]);
    return `commit ${this.commits.length}`;
  }
}

const aFile = (path: string, ...parts: BlobPart[]): Item => ({ path, file: new File(parts, path) });

async function send(items: Item[], server: FakeServer) {
  const seen: Progress[] = [];
  const commit = await sendItems(items, server, tools, (progress) => seen.push(progress));
  return { commit, last: seen.at(-1) };
}

const tree = () => [
  aFile("a.txt", "hello"),
  aFile("same as a.txt", "hello"),
  aFile("empty"),
  { path: "nothing here", file: null },
  aFile("big.bin", new Uint8Array(3 << 20).fill(7), new Uint8Array(6 << 20).fill(9)),
];

it("sends every content once and commits all paths together", async () => {
  const server = new FakeServer();
  const { commit, last } = await send(tree(), server);
  expect(commit).toBe("commit 1");
  expect(server.commits[0]?.map((put) => [put.path, put.kind, put.content, put.size])).toEqual([
    ["a.txt", "file", "blob", 5],
    ["same as a.txt", "file", "blob", 5],
    ["empty", "file", "nothing", 0],
    ["nothing here", "directory", "nothing", 0],
    ["big.bin", "file", "chunks", 9 << 20],
  ]);
  expect(last).toMatchObject({ files: 4, bytes: 10 + (9 << 20) });
  expect(last?.sent).toBe(server.packs.reduce((sum, pack) => sum + pack.size, 0));
});

it("sends nothing again that arrived before it was interrupted", async () => {
  const server = new FakeServer();
  await send(tree(), server);
  server.packs = [];
  const { last } = await send([...tree(), aFile("new", "only this is new")], server);
  expect(server.packs.length).toBe(1);
  expect(server.packs[0]?.size).toBe(16 + 45 + 44);
  expect(last).toMatchObject({ files: 5, sent: 16 + 45 + 44 });
  expect(server.commits[1]?.length).toBe(6);
});

it("has a bounded number of packs under way", async () => {
  const server = new FakeServer();
  const large = Array.from({ length: 60 }, (_, number) =>
    aFile(`${number}`, new Uint8Array(1 << 20).fill(number)),
  );
  await send(large, server);
  expect(server.packs.length).toBeGreaterThan(5);
  expect(server.mostUnderWay).toBeLessThanOrEqual(3);
});

it("commits nothing when a pack cannot be sent", async () => {
  const server = new FakeServer();
  server.failing = new Error("refused");
  await expect(send(tree(), server)).rejects.toThrow("refused");
  expect(server.commits).toEqual([]);
});

it("names the file that cannot be read any more", async () => {
  const gone = aFile("gone.txt", "x");
  Object.defineProperty(gone.file, "slice", {
    value: () => ({ arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")) }),
  });
  await expect(send([gone], new FakeServer())).rejects.toThrow("'gone.txt' cannot be read");
});

it("cuts what one request cannot hold into few parts", () => {
  const puts = Array.from(
    { length: 120_000 },
    (_, number): EditPut => ({ path: `${number}`, kind: "file" }) as EditPut,
  );
  expect(inParts(puts).map((part) => part.length)).toEqual([50_000, 50_000, 20_000]);
  const long = puts.slice(0, 3000).map((put) => ({ ...put, path: put.path + "x".repeat(4000) }));
  const parts = inParts(long);
  expect(parts.flat().length).toBe(3000);
  expect(Math.max(...parts.map((part) => JSON.stringify(part).length))).toBeLessThan(16 << 20);
  expect(parts.length).toBeLessThan(5);
});
