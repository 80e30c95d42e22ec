/**
 * One EventSource over a changing set of topics.
 *
 * A change of topics opens the new source before the old one is closed, so no event falls between the two (one
 * may arrive twice, which only refreshes twice). A connection that breaks is resumed by the browser itself, with
 * Last-Event-ID; one that the server refused is opened anew, more and more slowly.
 */
import type { ToTab } from "./messages";

const SETTLE_MS = 100;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

export class EventStream {
  private source: EventSource | null = null;
  private opening: EventSource | null = null;
  private topics: readonly string[] = [];
  private streaming: readonly string[] = [];
  private address = "";
  private settle: ReturnType<typeof setTimeout> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private retryMs = FIRST_RETRY_MS;

  constructor(
    private readonly tell: (message: ToTab) => void,
    private readonly open: (address: string) => EventSource = (address) => new EventSource(address),
  ) {}

  want(address: string, topics: readonly string[]): void {
    if (address === this.address && topics.join() === this.topics.join()) return;
    this.address = address;
    this.topics = topics;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.apply(), SETTLE_MS);
  }

  isStreaming(topic: string): boolean {
    return this.streaming.includes(topic);
  }

  private apply(): void {
    clearTimeout(this.retry);
    this.opening?.close();
    this.opening = null;
    if (this.topics.length > 0) this.connect(this.topics);
    else this.closeSource();
  }

  private connect(topics: readonly string[]): void {
    const address = new URL(this.address);
    address.searchParams.set("topics", topics.join(","));
    const source = this.open(address.href);
    this.opening = source;
    source.onopen = () => this.opened(source, topics);
    source.onerror = () => this.broken(source);
    for (const topic of topics) {
      source.addEventListener(topic, (event) => {
        this.tell({ kind: "event", topic, data: parse((event as MessageEvent<string>).data) });
      });
    }
    source.addEventListener("reset", () => this.tell({ kind: "reset" }));
  }

  private opened(source: EventSource, topics: readonly string[]): void {
    this.retryMs = FIRST_RETRY_MS;
    this.tell({ kind: "status", online: true });
    if (source !== this.opening) return;
    this.source?.close();
    this.source = source;
    this.opening = null;
    const begun = topics.filter((topic) => !this.streaming.includes(topic));
    this.streaming = topics;
    if (begun.length > 0) this.tell({ kind: "begun", topics: begun });
  }

  private broken(source: EventSource): void {
    this.tell({ kind: "status", online: false });
    if (source.readyState !== EventSource.CLOSED) return;
    this.opening = null;
    this.closeSource();
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.apply(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
  }

  private closeSource(): void {
    this.source?.close();
    this.source = null;
    this.streaming = [];
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
