import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { HttpServer, type Target } from "./server";

const target: Target = {
  api: "http://mill.test/api/v1",
  csrf: "the-csrf",
  project: "default",
  dataset: "digits",
  branch: "main",
  message: "Upload",
};

/** Answers of `fetch` and of PUTs, in turn; null is a lost connection. */
let answers: (Response | null)[] = [];
const asked: string[] = [];
const away: boolean[] = [];
let slept: number[] = [];

async function answer(method: string, url: string): Promise<Response> {
  asked.push(`${method} ${url.replace(target.api, "")}`);
  const next = answers.shift();
  if (!next) throw new TypeError("lost");
  return next;
}

class FakePut {
  upload = { onprogress: null as ((event: { loaded: number }) => void) | null };
  onload: (() => void) | null = null;
  onerror: (() => void) | null = null;
  status = 0;
  responseText = "";
  private url = "";

  open(_: string, url: string) {
    this.url = url;
  }

  setRequestHeader() {}

  send(body: Blob) {
    this.upload.onprogress?.({ loaded: body.size / 2 });
    answer("PUT", this.url).then(
      async (response) => {
        this.status = response.status;
        this.responseText = await response.text();
        this.onload?.();
      },
      () => this.onerror?.(),
    );
  }
}

const json = (body: unknown, status = 200) => Response.json(body, { status });
const problem = (status: number, code: string) =>
  json({ code, detail: `It is ${code}.`, request_id: "r" }, status);
const upload = () => json({ id: "u1", created_at: "" }, 201);
const slots = () => json({ slots: [{ id: "p1" }, { id: "p2" }] });
const done = () => new Response(null, { status: 204 });

beforeEach(() => {
  answers = [];
  slept = [];
  asked.length = 0;
  away.length = 0;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => answer(init.method ?? "GET", url));
  vi.stubGlobal("XMLHttpRequest", FakePut);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const aServer = () =>
  new HttpServer(
    target,
    (now) => away.push(now),
    async (ms) => void slept.push(ms),
  );

it("waits while the server is away, and says so", async () => {
  answers = [null, null, upload(), problem(503, "unavailable"), new Response(new Uint8Array([1, 0]))];
  expect(await aServer().missing(new Uint8Array(64))).toEqual(new Uint8Array([1, 0]));
  expect(away).toEqual([true, true, false, true, false]);
  expect(slept).toEqual([1000, 2000, 1000]);
});

it("sends a pack again after a lost connection, and counts its bytes once", async () => {
  answers = [upload(), slots(), null, done(), done()];
  let sent = 0;
  await aServer().sendPack(new Blob(["x".repeat(100)]), (bytes) => {
    sent += bytes;
  });
  expect(sent).toBe(100);
  const packs = "/projects/default/uploads/u1/packs";
  const put = `PUT ${packs}/p1/bytes`;
  expect(asked.slice(1)).toEqual([`POST ${packs}`, put, put, `POST ${packs}/written`]);
});

it("gives up at once where trying again cannot help", async () => {
  answers = [upload(), problem(403, "forbidden")];
  await expect(aServer().missing(new Uint8Array(32))).rejects.toThrow("It is forbidden.");
  expect(slept).toEqual([]);
});

it("does not try for ever what is broken in the server", async () => {
  answers = [upload(), ...Array.from({ length: 6 }, () => problem(500, "internal"))];
  await expect(aServer().missing(new Uint8Array(32))).rejects.toThrow("It is internal.");
});

it("numbers the parts of a commit in their messages", async () => {
  const bodies: string[] = [];
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    bodies.push(String(init.body));
    return bodies.length === 1 ? upload() : json({ id: "c1" }, 201);
  });
  expect(await aServer().commit([], { number: 2, of: 3 })).toBe("c1");
  expect(JSON.parse(bodies[1] ?? "")).toMatchObject({
    upload: "u1",
    message: "Upload (part 2 of 3)",
    branch: "main",
  });
});
