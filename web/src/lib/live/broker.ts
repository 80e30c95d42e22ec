/** Holds the one event stream of this browser and shares it among tabs. */
import type { ToTab, Wanted } from "./messages";
import { EventStream } from "./stream";

interface Tab {
  readonly send: (message: ToTab) => void;
  topics: readonly string[];
}

export class Broker {
  private readonly tabs = new Map<string, Tab>();
  private readonly stream: EventStream;
  private online = true;

  constructor(stream: (tell: (message: ToTab) => void) => EventStream = (tell) => new EventStream(tell)) {
    this.stream = stream((message) => this.share(message));
  }

  /** Takes a tab's whole wish, the first or a later one. */
  receive(id: string, wanted: Wanted, send: (message: ToTab) => void): void {
    const before = this.tabs.get(id)?.topics ?? [];
    if (wanted.topics.length === 0) this.tabs.delete(id);
    else this.tabs.set(id, { send, topics: wanted.topics });
    this.greet(
      wanted.topics.filter((topic) => !before.includes(topic)),
      send,
    );
    const topics = new Set([...this.tabs.values()].flatMap((tab) => tab.topics));
    this.stream.want(wanted.address, [...topics].sort());
  }

  /** Topics that stream already, for other tabs, begin for this one now. */
  private greet(added: readonly string[], send: (message: ToTab) => void): void {
    if (added.length === 0) return;
    send({ kind: "status", online: this.online });
    const topics = added.filter((topic) => this.stream.isStreaming(topic));
    if (topics.length > 0) send({ kind: "begun", topics });
  }

  private share(message: ToTab): void {
    if (message.kind === "status") this.online = message.online;
    for (const tab of this.tabs.values()) {
      const part = partFor(tab, message);
      if (part) tab.send(part);
    }
  }
}

function partFor(tab: Tab, message: ToTab): ToTab | null {
  if (message.kind === "event") return tab.topics.includes(message.topic) ? message : null;
  if (message.kind !== "begun") return message;
  const topics = message.topics.filter((topic) => tab.topics.includes(topic));
  return topics.length > 0 ? { kind: "begun", topics } : null;
}
