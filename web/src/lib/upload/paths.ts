/** Names of local files as paths of a tree, in their text form; the server's rules (`model/path.py`) said early. */

const MAX_PATH = 4095;
const MAX_PART = 255;
const encoder = new TextEncoder();

/** The text form of a path: only a backslash is written otherwise, since browsers give names as text. */
export function toTextForm(path: string): string {
  return path.replaceAll("\\", "\\\\");
}

/** Why a path cannot stand in a tree; null when it can. */
export function whyNoPath(path: string): string | null {
  if (encoder.encode(path).length > MAX_PATH) return "the path is longer than 4,095 bytes";
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return "a part of the path is empty, '.' or '..'";
    if (part.toLowerCase() === ".mill") return "'.mill' holds the state of a working copy";
    if (part.includes("\0")) return "the name holds a zero byte";
    if (encoder.encode(part).length > MAX_PART) return "a name is longer than 255 bytes";
  }
  return null;
}

/** A directory as people type it: without slashes around it. */
export function trimSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, "");
}

/** The one directory that all paths lie in; null when there are several, or files beside them. */
export function commonFolder(paths: readonly string[]): string | null {
  const first = paths[0]?.split("/");
  if (!first || first.length < 2) return null;
  const folder = `${first[0]}/`;
  return paths.every((path) => path.startsWith(folder)) ? (first[0] as string) : null;
}
