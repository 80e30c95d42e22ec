/** This tab's part of the shared stream: counts who wants which topic, and wants nothing while hidden. */
import type { ToTab } from "./messages";
import { openTransport, type Transport } from "./transport";

export class LiveConnection {
  private readonly transport: Transport;
  private readonly counts = new Map<string, number>();
  private readonly listeners = new Set<(message: ToTab) => void>();

  constructor(
    private readonly address: string,
    open: (receive: (message: ToTab) => void) => Transport = openTransport,
  ) {
    this.transport = open((message) => {
      for (const listener of this.listeners) listener(message);
    });
    document.addEventListener("visibilitychange", this.update);
    window.addEventListener("pageshow", this.update);
    window.addEventListener("pagehide", () => this.send([]));
  }

  listen(listener: (message: ToTab) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Streams `topics` until the returned function is called. */
  follow(topics: readonly string[]): () => void {
    for (const topic of topics) this.counts.set(topic, (this.counts.get(topic) ?? 0) + 1);
    this.update();
    return () => {
      for (const topic of topics) {
        const left = (this.counts.get(topic) ?? 1) - 1;
        if (left > 0) this.counts.set(topic, left);
        else this.counts.delete(topic);
      }
      this.update();
    };
  }

  private readonly update = () => {
    this.send(document.visibilityState === "hidden" ? [] : [...this.counts.keys()]);
  };

  private send(topics: readonly string[]): void {
    this.transport.send({ kind: "wanted", address: this.address, topics });
  }
}
