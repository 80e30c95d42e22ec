/** What a file's name says about how to show it. The bytes decide in the end: a broken image is said to be broken. */

const KINDS = {
  image: /\.(png|jpe?g|gif|webp|bmp|avif|ico)$/i,
  // They can carry scripts: only the second origin shows them.
  document: /\.(html?|xhtml|svg)$/i,
  json: /\.(json|geojson|ipynb)$/i,
  lines: /\.(jsonl|ndjson)$/i,
  table: /\.(csv|tsv)$/i,
  parquet: /\.(parquet|pq)$/i,
  audio: /\.(mp3|wav|flac|ogg|oga|opus|m4a|aac|weba)$/i,
  video: /\.(mp4|m4v|webm|ogv|mov)$/i,
} as const;

export type FileKind = keyof typeof KINDS | "text";

export function kindOf(name: string): FileKind {
  const found = Object.entries(KINDS).find(([, pattern]) => pattern.test(name));
  return (found?.[0] as FileKind | undefined) ?? "text";
}

/** Whether the page itself shows it as an image: SVG is a document. */
export function isImage(name: string): boolean {
  return kindOf(name) === "image";
}
