import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Broker } from "./broker";
import type { ToTab } from "./messages";
import { EventStream } from "./stream";

class FakeSource {
  static all: FakeSource[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;
  readonly listeners = new Map<string, (event: { data: string }) => void>();

  constructor(readonly address: string) {
    FakeSource.all.push(this);
  }
  addEventListener(topic: string, listener: (event: { data: string }) => void) {
    this.listeners.set(topic, listener);
  }
  close() {
    this.closed = true;
  }
  opens() {
    this.readyState = 1;
    this.onopen?.();
  }
  refused() {
    this.readyState = 2;
    this.onerror?.();
  }
  says(topic: string, data: unknown = {}) {
    this.listeners.get(topic)?.({ data: JSON.stringify(data) });
  }
}

const address = "http://mill/api/v1/events";
const topicsOf = (source: FakeSource | undefined) =>
  new URL(source?.address ?? "").searchParams.get("topics");

function aBroker() {
  return new Broker((tell) => new EventStream(tell, (at) => new FakeSource(at) as unknown as EventSource));
}

function wants(broker: Broker, tab: string, topics: string[], heard: ToTab[] = []) {
  broker.receive(tab, { kind: "wanted", address, topics }, (message) => heard.push(message));
  vi.advanceTimersByTime(200);
  return heard;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", { CLOSED: 2 });
  FakeSource.all = [];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("opens one stream for all tabs and gives each only what it wants", () => {
  const broker = aBroker();
  const one: ToTab[] = [];
  const two: ToTab[] = [];
  broker.receive("1", { kind: "wanted", address, topics: ["jobs"] }, (message) => one.push(message));
  wants(broker, "2", ["caches", "jobs"], two);
  expect(FakeSource.all).toHaveLength(1);
  expect(topicsOf(FakeSource.all[0])).toBe("caches,jobs");
  FakeSource.all[0]?.opens();
  FakeSource.all[0]?.says("caches", { id: "c1" });
  expect(one.filter((message) => message.kind === "event")).toEqual([]);
  expect(two).toContainEqual({ kind: "event", topic: "caches", data: { id: "c1" } });
});

it("closes the old stream only when the new one is open", () => {
  const broker = aBroker();
  wants(broker, "1", ["jobs"]);
  FakeSource.all[0]?.opens();
  const heard = wants(broker, "1", ["jobs", "run:r1"]);
  const [before, after] = FakeSource.all;
  expect(before?.closed).toBe(false);
  after?.opens();
  expect(before?.closed).toBe(true);
  expect(heard).toContainEqual({ kind: "begun", topics: ["run:r1"] });
});

it("streams nothing when every tab is hidden", () => {
  const broker = aBroker();
  wants(broker, "1", ["jobs"]);
  FakeSource.all[0]?.opens();
  wants(broker, "1", []);
  expect(FakeSource.all[0]?.closed).toBe(true);
  expect(FakeSource.all).toHaveLength(1);
});

it("tells a tab that comes back to load what it missed, though the stream went on for others", () => {
  const broker = aBroker();
  wants(broker, "1", ["jobs"]);
  FakeSource.all[0]?.opens();
  const heard = wants(broker, "2", ["jobs"]);
  expect(heard).toContainEqual({ kind: "begun", topics: ["jobs"] });
});

it("says offline and tries again, ever more slowly, when the server refuses", () => {
  const broker = aBroker();
  const heard = wants(broker, "1", ["jobs"]);
  FakeSource.all[0]?.refused();
  expect(heard.at(-1)).toEqual({ kind: "status", online: false });
  vi.advanceTimersByTime(1_000);
  expect(FakeSource.all).toHaveLength(2);
  FakeSource.all[1]?.refused();
  vi.advanceTimersByTime(1_000);
  expect(FakeSource.all).toHaveLength(2);
  vi.advanceTimersByTime(1_000);
  FakeSource.all[2]?.opens();
  expect(heard).toContainEqual({ kind: "status", online: true });
});

it("passes a reset on to every tab", () => {
  const broker = aBroker();
  const heard = wants(broker, "1", ["jobs"]);
  FakeSource.all[0]?.opens();
  FakeSource.all[0]?.says("reset");
  expect(heard.at(-1)).toEqual({ kind: "reset" });
});
