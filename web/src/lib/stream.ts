/** A stream to a running job, in the messages of docs/design/011-tunnels.md. */
import { apiAddress } from "./base";

const STDIN = 0;

export interface Ending {
  /** The exit status of what ran; null when the stream ended before it did. */
  exit: number | null;
  problem: string | null;
}

interface Listener {
  onOutput: (bytes: Uint8Array) => void;
  onEnd: (ending: Ending) => void;
}

export class JobTerminal {
  private readonly socket: WebSocket;
  private ended = false;

  constructor(
    address: string,
    private readonly listener: Listener,
  ) {
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => this.hear(data);
    this.socket.onclose = () => this.end({ exit: null, problem: "The connection to the job is over." });
  }

  type(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = STDIN;
    message.set(bytes, 1);
    this.send(message);
  }

  resize(columns: number, rows: number): void {
    this.send(JSON.stringify({ resize: [columns, rows] }));
  }

  close(): void {
    this.ended = true;
    this.socket.close();
  }

  private send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(message);
  }

  private hear(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      this.listener.onOutput(new Uint8Array(data, 1));
      return;
    }
    const said = JSON.parse(data) as { exit?: number; problem?: { detail: string; hint?: string | null } };
    if (said.exit !== undefined) this.end({ exit: said.exit, problem: null });
    if (said.problem) {
      this.end({ exit: null, problem: [said.problem.detail, said.problem.hint].filter(Boolean).join(" ") });
    }
  }

  private end(ending: Ending): void {
    if (this.ended) return;
    this.ended = true;
    this.listener.onEnd(ending);
    this.socket.close();
  }
}

interface Place {
  project: string;
  job: string;
  /** Of a distributed job: beside which process. */
  rank: number;
}

/** Where a shell of so many columns and rows is opened in a job. */
export function terminalAddress({ project, job, rank }: Place, columns: number, rows: number): string {
  const path = `/projects/${encodeURIComponent(project)}/jobs/${encodeURIComponent(job)}/exec`;
  const address = new URL(apiAddress(path));
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const shell = ["sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi"];
  for (const part of shell) address.searchParams.append("command", part);
  address.searchParams.set("tty", "1");
  address.searchParams.set("columns", String(columns));
  address.searchParams.set("rows", String(rows));
  if (rank > 0) address.searchParams.set("rank", String(rank));
  return address.href;
}
