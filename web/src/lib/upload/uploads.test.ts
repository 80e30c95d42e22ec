import { afterEach, expect, it, vi } from "vitest";
import type { FromWorker, Start } from "./messages";
import { listUnfinished, type Unfinished } from "./unfinished";
import { Uploads, type WorkerLike } from "./uploads";

class FakeWorker implements WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  started: Start | null = null;
  ended = false;

  postMessage(start: Start) {
    this.started = start;
  }

  terminate() {
    this.ended = true;
  }

  say(data: FromWorker) {
    this.onmessage?.({ data } as MessageEvent<FromWorker>);
  }
}

const upload: Unfinished = {
  id: "u1",
  by: "mary",
  project: "default",
  dataset: "digits",
  branch: "main",
  into: "",
  keepFolder: true,
  message: "Upload",
  files: 2,
  bytes: 10,
  at: "2026-11-15T12:00:00Z",
};
const items = [{ path: "a", file: null }];
const failure = { message: "Sign in.", hint: null, code: "not_signed_in", requestId: null };

function begin() {
  const workers: FakeWorker[] = [];
  const committed = vi.fn();
  const make = () => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  };
  const right = () => ({ api: "http://mill.test/api/v1", csrf: `csrf ${workers.length}` });
  const uploads = new Uploads(make, right, committed, () => 1000 * workers.length);
  uploads.start(upload, items);
  return { uploads, workers, committed, state: () => uploads.list()[0] };
}

afterEach(() => window.localStorage.clear());

it("is remembered until it is committed", () => {
  const { uploads, workers, committed, state } = begin();
  expect(listUnfinished()).toEqual([upload]);
  expect(uploads.isBusy()).toBe(true);
  workers[0]?.say({ kind: "progress", progress: { files: 1, bytes: 4, sent: 4 } });
  expect(state()).toMatchObject({ phase: "sending", progress: { files: 1 } });
  workers[0]?.say({ kind: "progress", progress: { files: 2, bytes: 10, sent: 9 } });
  expect(state()?.phase).toBe("committing");
  workers[0]?.say({ kind: "done", commit: "c1" });
  expect(state()).toMatchObject({ phase: "done", commit: "c1" });
  expect(committed).toHaveBeenCalledOnce();
  expect(listUnfinished()).toEqual([]);
  expect(uploads.isBusy()).toBe(false);
  expect(workers[0]?.ended).toBe(true);
});

it("goes on after a failure with the same files and a new right", () => {
  const { uploads, workers, state } = begin();
  workers[0]?.say({ kind: "failed", failure });
  expect(state()).toMatchObject({ phase: "failed", failure });
  expect(listUnfinished()).toEqual([upload]);
  uploads.goOn("u1");
  expect(state()?.phase).toBe("sending");
  expect(workers[1]?.started).toMatchObject({ items, target: { csrf: "csrf 2", dataset: "digits" } });
});

it("ends at once when it is cancelled, and is forgotten", () => {
  const { uploads, workers } = begin();
  uploads.cancel("u1");
  expect(workers[0]?.ended).toBe(true);
  expect(uploads.list()).toEqual([]);
  expect(listUnfinished()).toEqual([]);
  workers[0]?.say({ kind: "done", commit: "too late" });
  expect(uploads.list()).toEqual([]);
});

it("ends with its session, but is not forgotten", () => {
  const { uploads, workers } = begin();
  uploads.leave();
  expect(workers[0]?.ended).toBe(true);
  expect(uploads.list()).toEqual([]);
  expect(listUnfinished()).toEqual([upload]);
});

it("says when the server is away", () => {
  const { workers, state } = begin();
  workers[0]?.say({ kind: "away", away: true });
  expect(state()?.away).toBe(true);
  workers[0]?.say({ kind: "away", away: false });
  expect(state()?.away).toBe(false);
});
