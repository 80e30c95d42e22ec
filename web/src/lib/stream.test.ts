import { afterEach, expect, it, vi } from "vitest";
import { type Ending, JobTerminal, terminalAddress } from "./stream";

class FakeSocket {
  static readonly OPEN = 1;
  static last: FakeSocket;
  readyState = 1;
  binaryType = "";
  sent: (string | Uint8Array)[] = [];
  onmessage: (event: { data: unknown }) => void = () => {};
  onclose: () => void = () => {};
  constructor(readonly address: string) {
    FakeSocket.last = this;
  }
  send(message: string | Uint8Array) {
    this.sent.push(message);
  }
  close() {
    this.onclose();
  }
}

afterEach(() => vi.unstubAllGlobals());

function open() {
  vi.stubGlobal("WebSocket", FakeSocket);
  const seen = { output: "", endings: [] as Ending[] };
  const terminal = new JobTerminal("ws://here", {
    onOutput: (bytes) => {
      seen.output += new TextDecoder().decode(bytes);
    },
    onEnd: (ending) => seen.endings.push(ending),
  });
  return { terminal, seen, socket: FakeSocket.last };
}

it("passes what is typed and what comes back, each with its channel", () => {
  const { terminal, seen, socket } = open();
  terminal.type("ls\r");
  terminal.resize(90, 30);
  expect(socket.sent).toEqual([new Uint8Array([0, 108, 115, 13]), '{"resize":[90,30]}']);
  socket.onmessage({ data: new Uint8Array([1, 104, 105]).buffer });
  expect(seen.output).toBe("hi");
});

it("ends once, with the exit status", () => {
  const { seen, socket } = open();
  socket.onmessage({ data: '{"exit": 3}' });
  socket.onclose();
  expect(seen.endings).toEqual([{ exit: 3, problem: null }]);
});

it("says why it was refused", () => {
  const { seen, socket } = open();
  socket.onmessage({ data: '{"problem": {"detail": "No.", "hint": "Ask."}}' });
  expect(seen.endings).toEqual([{ exit: null, problem: "No. Ask." }]);
});

it("asks for a shell of its size", () => {
  const address = new URL(terminalAddress({ project: "a b", job: "j1", rank: 2 }, 100, 40));
  expect(address.protocol).toBe("ws:");
  expect(address.pathname).toContain("/projects/a%20b/jobs/j1/exec");
  expect(address.searchParams.getAll("command")[0]).toBe("sh");
  expect(address.searchParams.get("columns")).toBe("100");
  expect(address.searchParams.get("rank")).toBe("2");
});
