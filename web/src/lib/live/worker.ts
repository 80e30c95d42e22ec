/** The SharedWorker: lives as long as any tab of this browser, and holds the stream for all of them. */
import { Broker } from "./broker";
import type { Wanted } from "./messages";

const broker = new Broker();
let tabs = 0;

self.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0];
  if (!port) return;
  const id = String(++tabs);
  port.onmessage = (message: MessageEvent<Wanted>) => {
    broker.receive(id, message.data, (answer) => port.postMessage(answer));
  };
});
