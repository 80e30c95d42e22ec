/** The order in which a folder's entries are shown. */
import type { TreeEntry } from "../../../api/shapes";
import { isImage } from "./kinds";

/** Folders before files; each in the order the server gave. */
export function foldersFirst(entries: readonly TreeEntry[]): TreeEntry[] {
  const isFolder = (entry: TreeEntry) => entry.kind === "directory";
  return [...entries.filter(isFolder), ...entries.filter((entry) => !isFolder(entry))];
}

export function isPicture(entry: TreeEntry): boolean {
  return (entry.kind === "file" || entry.kind === "executable") && isImage(entry.name);
}

/** True if the folder is best seen as thumbnails: several images, and more of them than other files. */
export function isAlbum(entries: readonly TreeEntry[]): boolean {
  const pictures = entries.filter(isPicture).length;
  const files = entries.filter((entry) => entry.kind !== "directory").length;
  return pictures >= 4 && 2 * pictures > files;
}

/** The file `step` places after `shown`; undefined at either end, and where `shown` is not listed. */
export function neighbour(entries: readonly TreeEntry[], shown: string, step: 1 | -1): string | undefined {
  const files = entries.filter((entry) => entry.kind !== "directory");
  const place = files.findIndex((entry) => entry.path === shown);
  return place < 0 ? undefined : files[place + step]?.path;
}
