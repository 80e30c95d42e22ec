/** How a tab reaches the stream it shares: a SharedWorker, else a leading tab, else a stream of its own. */
import { Broker } from "./broker";
import type { ToTab, Wanted } from "./messages";

export interface Transport {
  send(wanted: Wanted): void;
}

type Receive = (message: ToTab) => void;

export function openTransport(receive: Receive): Transport {
  if (typeof SharedWorker !== "undefined") return sharedWorker(receive);
  // Locks exist only on secure origins; without them nobody can be elected.
  if (typeof BroadcastChannel !== "undefined" && navigator.locks) return leadingTab(receive);
  return ownStream(receive);
}

function sharedWorker(receive: Receive): Transport {
  const worker = new SharedWorker(new URL("./worker.ts", import.meta.url), {
    type: "module",
    name: "millpond-live",
  });
  worker.port.onmessage = (event: MessageEvent<ToTab>) => receive(event.data);
  return { send: (wanted) => worker.port.postMessage(wanted) };
}

function ownStream(receive: Receive): Transport {
  const broker = new Broker();
  return { send: (wanted) => broker.receive("self", wanted, receive) };
}

type Said =
  | { readonly to: "leader"; readonly from: string; readonly wanted: Wanted }
  | { readonly to: "tab"; readonly tab: string; readonly message: ToTab }
  | { readonly to: "everyone"; readonly newLeader: true };

/** The tab that holds the lock keeps the stream; when it closes, the next one takes over and asks all again. */
function leadingTab(receive: Receive): Transport {
  const self = crypto.randomUUID();
  const channel = new BroadcastChannel("millpond-live");
  let broker: Broker | null = null;
  let last: Wanted | null = null;

  const send = (wanted: Wanted) => {
    last = wanted;
    if (broker) broker.receive(self, wanted, receive);
    else channel.postMessage({ to: "leader", from: self, wanted } satisfies Said);
  };
  channel.onmessage = ({ data }: MessageEvent<Said>) => {
    if (data.to === "tab" && data.tab === self) receive(data.message);
    if (data.to === "everyone" && last) send(last);
    if (data.to === "leader") {
      broker?.receive(data.from, data.wanted, (message) =>
        channel.postMessage({ to: "tab", tab: data.from, message } satisfies Said),
      );
    }
  };
  void navigator.locks.request("millpond-live", () => {
    broker = new Broker();
    channel.postMessage({ to: "everyone", newLeader: true } satisfies Said);
    if (last) send(last);
    return new Promise<never>(() => {});
  });
  return { send };
}
