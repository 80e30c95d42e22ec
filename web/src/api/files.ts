/** The bytes of files: parts of them for previews, and where they are downloaded or shown. */
import { queryOptions } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, take } from "./client";
import { type FilePlace, fileAddress } from "./commits";
import { errorFrom, unreachable } from "./problem";

/** A preview of text reads this much and no more, however long the file is. */
export const PREVIEW_BYTES = 256 * 1024;

export interface Part {
  bytes: Uint8Array<ArrayBuffer>;
  /** Of the whole file. */
  size: number;
}

/** Bytes `start` to `end` (not included) of a file, as far as it goes; a negative `start` counts from its end. */
export async function readPart(
  file: FilePlace,
  start: number,
  end?: number,
  signal?: AbortSignal,
): Promise<Part> {
  const asked = start < 0 ? `bytes=${start}` : `bytes=${start}-${end === undefined ? "" : end - 1}`;
  const response = await fetch(fileAddress(file), {
    headers: { Range: asked },
    signal,
    credentials: "same-origin",
  }).catch((error: unknown) => {
    throw signal?.aborted ? error : unreachable();
  });
  const size = Number(response.headers.get("Content-Range")?.split("/").at(-1) ?? 0);
  // No byte of an empty file, or behind the end of one, exists.
  if (response.status === 416) return { bytes: new Uint8Array(), size };
  if (!response.ok) throw errorFrom(response, await response.json().catch(() => null));
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { bytes, size: response.status === 206 ? size : bytes.length };
}

/** The beginning of a file as text; null when it is not text. */
export const fileTextQuery = (file: FilePlace, most = PREVIEW_BYTES) =>
  queryOptions({
    queryKey: ["file", file, "text", most],
    queryFn: async ({ signal }) => {
      const { bytes, size } = await readPart(file, 0, most, signal);
      const text = bytes.includes(0) ? null : new TextDecoder().decode(bytes);
      return { text, size, isWhole: size <= bytes.length };
    },
  });

/** Where a directory is downloaded as a zip file. */
export function zipAddress(place: FilePlace): string {
  const [project, dataset, ref] = [place.project, place.dataset, place.ref].map(encodeURIComponent);
  const address = `/projects/${project}/datasets/${dataset}/commits/${ref}/zip`;
  return apiAddress(address, { path: place.path || undefined });
}

/** An address of the second origin that shows HTML or SVG once. */
export async function openDocument({ path, ...place }: FilePlace) {
  return take(
    api.POST("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}/preview", {
      params: { path: place, query: { path } },
    }),
  );
}
