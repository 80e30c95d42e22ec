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
  run(event.data).then(
    (commit) => say({ kind: "done", commit }),
    (error) => say({ kind: "failed", failure: failureOf(error) }),
  );
});

async function run({ target, items }: Start): Promise<string> {
  const tools = { digest: await loadDigest(), gear: await loadGear() };
  const tell = throttled((progress) => say({ kind: "progress", progress }));
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

/** The newest progress at most every TELL_MS, and surely the last one. */
function throttled(tell: (progress: Progress) => void): (progress: Progress) => void {
  let newest: Progress | null = null;
  return (progress) => {
    if (newest === null) {
      setTimeout(() => {
        if (newest) tell(newest);
        newest = null;
      }, TELL_MS);
    }
    newest = progress;
  };
}

function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) {
    return { message: error.message, hint: error.hint, code: error.code, requestId: error.requestId };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, hint: null, code: "unreadable", requestId: null };
}
