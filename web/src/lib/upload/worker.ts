/** The worker of one upload: reads, hashes, packs and sends, so that the page stays quick. Ends with its upload. */
import { ApiError } from "../../api/problem";
import { loadGear } from "./chunks";
import { loadDigest } from "./digest";
import type { Failure, FromWorker, Start } from "./messages";
import { type Progress, sendItems } from "./sending";
import { HttpServer } from "./server";

const TELL_MS = 200;
/** A collection may remove what was not committed yet; it is found missing then, and sent again. */
const TRIES = 4;

const say = (message: FromWorker) => self.postMessage(message);

self.addEventListener("message", (event: MessageEvent<Start>) => {
  const teller = new Teller((progress) => say({ kind: "progress", progress }));
  run(event.data, (progress) => teller.tell(progress))
    .then(
      (commit): FromWorker => ({ kind: "done", commit }),
      (error): FromWorker => ({ kind: "failed", failure: failureOf(error) }),
    )
    .then((end) => {
      teller.flush();
      say(end);
    });
});

async function run({ target, items }: Start, tell: (progress: Progress) => void): Promise<string> {
  const tools = { digest: await loadDigest(), gear: await loadGear() };
  for (let tries = 1; ; tries++) {
    const server = new HttpServer(target, (away) => say({ kind: "away", away }));
    try {
      return await sendItems(items, server, tools, tell);
    } catch (error) {
      const isIncomplete = error instanceof ApiError && error.code === "incomplete";
      if (!isIncomplete || tries === TRIES) throw error;
    }
  }
}

/** Tells the newest progress at most every TELL_MS. */
class Teller {
  private newest: Progress | null = null;

  constructor(private readonly say: (progress: Progress) => void) {}

  tell(progress: Progress): void {
    if (this.newest === null) setTimeout(() => this.flush(), TELL_MS);
    this.newest = progress;
  }

  flush(): void {
    if (this.newest) this.say(this.newest);
    this.newest = null;
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) {
    return { message: error.message, hint: error.hint, code: error.code, requestId: error.requestId };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, hint: null, code: "unreadable", requestId: null };
}
