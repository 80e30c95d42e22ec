/** The uploads of this tab. They outlive the page that began them; what is shown of them is one list of values. */

import type { Failure, FromWorker, Start } from "./messages";
import { type Sample, withSample } from "./rate";
import type { Item, Progress } from "./sending";
import type { Target } from "./server";
import { forgetUnfinished, noteUnfinished, type Unfinished } from "./unfinished";

export type UploadPhase = "sending" | "committing" | "done" | "failed";

export interface UploadState extends Unfinished {
  readonly phase: UploadPhase;
  /** The server does not answer at the moment. */
  readonly away: boolean;
  readonly progress: Progress;
  readonly samples: readonly Sample[];
  readonly failure: Failure | null;
  readonly commit: string | null;
}

export interface WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(start: Start): void;
  terminate(): void;
}

interface Begun {
  items: readonly Item[];
  worker: WorkerLike;
}

const NOTHING: Progress = { files: 0, bytes: 0, sent: 0 };

export class Uploads {
  private states: readonly UploadState[] = [];
  private readonly begun = new Map<string, Begun>();
  private readonly listeners = new Set<() => void>();

  /** `right` is asked for each time, since signing in anew changes it. */
  constructor(
    private readonly makeWorker: () => WorkerLike,
    private readonly right: () => Pick<Target, "api" | "csrf">,
    private readonly committed: (upload: UploadState) => void,
    private readonly now: () => number = Date.now,
  ) {}

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  readonly list = () => this.states;

  isBusy(): boolean {
    return this.states.some((upload) => upload.phase === "sending" || upload.phase === "committing");
  }

  start(upload: Unfinished, items: readonly Item[]): void {
    noteUnfinished(upload);
    this.states = [
      ...this.states.filter((other) => other.id !== upload.id),
      {
        ...upload,
        phase: "sending",
        away: false,
        progress: NOTHING,
        samples: [],
        failure: null,
        commit: null,
      },
    ];
    this.work(upload, items);
    this.tell();
  }

  /** Begin again with the same files: what was sent is not sent again. */
  goOn(id: string): void {
    const begun = this.begun.get(id);
    const upload = this.states.find((state) => state.id === id);
    if (begun && upload) this.start(unfinishedOf(upload), begun.items);
  }

  /** Stop it; nothing was committed. What it sent is removed by a later collection. */
  cancel(id: string): void {
    forgetUnfinished(id);
    this.dismiss(id);
  }

  /** Stop all of them when somebody signs out; they can be gone on with later. */
  leave(): void {
    for (const { id } of this.states) this.dismiss(id);
  }

  /** Out of the list. */
  dismiss(id: string): void {
    this.begun.get(id)?.worker.terminate();
    this.begun.delete(id);
    this.states = this.states.filter((upload) => upload.id !== id);
    this.tell();
  }

  private work(upload: Unfinished, items: readonly Item[]): void {
    this.begun.get(upload.id)?.worker.terminate();
    const worker = this.makeWorker();
    this.begun.set(upload.id, { items, worker });
    worker.onmessage = ({ data }) => this.hear(upload.id, data);
    worker.onerror = () =>
      this.hear(upload.id, {
        kind: "failed",
        failure: {
          message: "The part of the page that sends files could not be loaded.",
          hint: "Reload the page and try again.",
          code: "internal",
          requestId: null,
        },
      });
    const { project, dataset, branch, message } = upload;
    worker.postMessage({ target: { ...this.right(), project, dataset, branch, message }, items });
  }

  private hear(id: string, message: FromWorker): void {
    const upload = this.states.find((state) => state.id === id);
    if (!upload) return;
    const changed = { ...upload, ...this.change(upload, message) };
    this.states = this.states.map((state) => (state.id === id ? changed : state));
    if (message.kind === "done" || message.kind === "failed") this.begun.get(id)?.worker.terminate();
    if (message.kind === "done") {
      // A failed one keeps its files, to go on with them.
      this.begun.delete(id);
      forgetUnfinished(id);
      this.committed(changed);
    }
    this.tell();
  }

  private change(upload: UploadState, message: FromWorker): Partial<UploadState> {
    switch (message.kind) {
      case "away":
        return { away: message.away };
      case "done":
        return { phase: "done", commit: message.commit, away: false };
      case "failed":
        return { phase: "failed", failure: message.failure, away: false };
      case "progress": {
        const { progress } = message;
        const samples = withSample(upload.samples, { at: this.now(), bytes: progress.bytes });
        const isSent = progress.files >= upload.files && progress.bytes >= upload.bytes;
        return { progress, samples, phase: isSent ? "committing" : "sending" };
      }
    }
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function unfinishedOf(state: UploadState): Unfinished {
  const { id, by, project, dataset, branch, into, keepFolder, message, files, bytes, at } = state;
  return { id, by, project, dataset, branch, into, keepFolder, message, files, bytes, at };
}
