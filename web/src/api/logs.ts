import { queryOptions } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { appendChunk, type Chunk, isAtEnd, type Log, logFrom, prependChunks, trimmed } from "../lib/log";
import { api, queries, take } from "./client";
import type { JobPlace } from "./jobs";
import { errorFrom, unreachable } from "./problem";

const CHUNK_BYTES = 512 * 1024;
/** Of a long log, the page first reads this much from its end. */
export const TAIL_BYTES = 512 * 1024;
/** Before a place somebody jumps to, so much is read. */
export const AROUND_BYTES = 64 * 1024;
const MOST_LINES = 40_000;
/** A follower that is further behind than this goes on at the end instead of reading everything in between. */
const MOST_BEHIND_BYTES = 4 * CHUNK_BYTES;

export interface LogPlace extends JobPlace {
  /** Without one, the newest. */
  attempt?: number;
  /** Of a distributed job; without one, that which failed first, or the first. */
  rank?: number;
}

function address(
  { project, job }: JobPlace,
  rest: string,
  query: Record<string, string | number | undefined>,
) {
  return apiAddress(
    `/projects/${encodeURIComponent(project)}/jobs/${encodeURIComponent(job)}/log${rest}`,
    query,
  );
}

export const logFileAddress = (place: LogPlace) =>
  address(place, "/file", { attempt: place.attempt, rank: place.rank });

export const logAttemptsQuery = ({ project, job }: JobPlace) =>
  queryOptions({
    queryKey: ["log-attempts", { project, job }],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/jobs/{job}/log/attempts", { params: { path: { project, job } } }),
      ),
  });

const keyOf = (place: LogPlace, from: number) => ["log", place, from] as const;

/** A window of the log that begins at `from` (negative: from the end). Asking again goes on at the end, if it follows. */
export const logQuery = (place: LogPlace, from: number, follow: boolean) =>
  queryOptions({
    queryKey: keyOf(place, from),
    queryFn: async ({ client, queryKey, signal }) => {
      const log = client.getQueryData<Log>(queryKey);
      if (!log) return logFrom(await readChunk(place, from, CHUNK_BYTES, signal));
      return follow && (isAtEnd(log) || from < 0) ? await readToEnd(place, log, signal) : log;
    },
    structuralSharing: false,
  });

async function readToEnd(place: LogPlace, log: Log, signal: AbortSignal): Promise<Log> {
  for (;;) {
    const chunk = await readChunk(place, log.next, CHUNK_BYTES, signal);
    const isAnother = chunk.attempt !== log.attempt;
    if (isAnother || chunk.size - chunk.next > MOST_BEHIND_BYTES) {
      return logFrom(await readChunk(place, -TAIL_BYTES, CHUNK_BYTES, signal));
    }
    log = trimmed(appendChunk(log, chunk), MOST_LINES, "front");
    if (chunk.bytes.length < CHUNK_BYTES && !chunk.leftOut) return log;
  }
}

/** Reads on behind the window; how many lines went at its beginning. */
export async function readLater(place: LogPlace, from: number): Promise<void> {
  const log = queries.getQueryData<Log>(keyOf(place, from));
  if (!log || isAtEnd(log)) return;
  const chunk = await readChunk({ ...place, attempt: log.attempt }, log.next, CHUNK_BYTES);
  queries.setQueryData(keyOf(place, from), appendChunk(log, chunk));
}

/** Reads what lies before the window; how many lines that were. */
export async function readEarlier(place: LogPlace, from: number): Promise<number> {
  const log = queries.getQueryData<Log>(keyOf(place, from));
  if (!log || log.start === 0) return 0;
  const chunks: Chunk[] = [];
  let at = Math.max(0, log.start - CHUNK_BYTES);
  while (at < log.start) {
    const chunk = await readChunk({ ...place, attempt: log.attempt }, at, log.start - at);
    if (chunk.bytes.length === 0) return 0;
    chunks.push(chunk);
    at = chunk.next;
  }
  const longer = prependChunks(log, chunks);
  const lines = longer.lines.length - log.lines.length;
  queries.setQueryData(keyOf(place, from), trimmed(longer, MOST_LINES, "back"));
  return lines;
}

/** One line of the answer to a search: a line of the log with a match, or how far the search came. */
export interface LogHit {
  kind: "hit";
  offset: number;
  length: number;
  line: number;
  line_offset: number;
  text: string;
}

interface LogSearchEnd {
  kind: "end";
  offset: number;
  complete: boolean;
  hits: number;
}

export interface LogSearch {
  text: string;
  regex: boolean;
}

export interface LogHits {
  hits: LogHit[];
  /** All of the log was looked through. */
  complete: boolean;
}

/** Everything found, told as it is found. */
export async function searchLog(
  place: LogPlace,
  search: LogSearch,
  found: (hits: LogHits) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = {
    q: search.text,
    regex: String(search.regex),
    ignore_case: "true",
    limit: 5000,
    attempt: place.attempt,
    rank: place.rank,
  };
  const response = await get(address(place, "/search", query), signal);
  const hits: LogHit[] = [];
  let complete = false;
  for await (const line of textLines(response)) {
    const item = JSON.parse(line) as LogHit | LogSearchEnd;
    if (item.kind === "hit") hits.push(item);
    else complete = item.complete;
    if (hits.length % 200 === 1) found({ hits: [...hits], complete: false });
  }
  found({ hits, complete });
}

async function* textLines(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (reader) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

async function readChunk(
  place: LogPlace,
  offset: number,
  limit: number,
  signal?: AbortSignal,
): Promise<Chunk> {
  const response = await get(
    address(place, "", { offset, limit, attempt: place.attempt, rank: place.rank }),
    signal,
  );
  const bytes = new Uint8Array(await response.arrayBuffer());
  const number = (name: string) => Number(response.headers.get(name) ?? 0);
  return {
    attempt: number("X-Mill-Attempt"),
    begin: number("X-Mill-Begin"),
    next: number("X-Mill-Offset"),
    size: number("X-Mill-Size"),
    bytes,
    complete: response.headers.get("X-Mill-Complete") === "1",
    leftOut: response.headers.has("X-Mill-Left-Out"),
  };
}

async function get(url: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(url, { signal, credentials: "same-origin" }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  if (!response.ok) throw errorFrom(response, await response.json().catch(() => null));
  return response;
}
