/** Files that somebody dropped or chose, with their paths; folders are walked, empty ones are kept. */
import type { Item } from "./sending";

/** What a drop holds. Must be called while the event is handled: the browser forgets the drop afterwards. */
export async function itemsOfDrop(data: DataTransfer): Promise<Item[]> {
  const dropped = Array.from(data.items).filter((item) => item.kind === "file");
  const entries = dropped.map((item) => item.webkitGetAsEntry());
  // What has no entry (a picture dragged from another page) is still a file.
  const loose = dropped.map((item, number) => (entries[number] ? null : item.getAsFile()));
  const walked = await walk(entries.filter((entry) => entry !== null));
  return [...walked, ...itemsOfInput(loose.filter((file) => file !== null))];
}

/** What a file field holds; with `webkitdirectory` the browser names the paths below the chosen folder. */
export function itemsOfInput(files: Iterable<File>): Item[] {
  return inOrder(Array.from(files, (file) => ({ path: pathOf(file), file })));
}

/** Chromium writes a backslash of a name as a slash in the path, but not in the name. */
function pathOf({ name, webkitRelativePath: path = "" }: File): string {
  return path.endsWith(name.replaceAll("\\", "/")) ? path.slice(0, -name.length) + name : name;
}

async function walk(entries: readonly FileSystemEntry[]): Promise<Item[]> {
  const items: Item[] = [];
  const ahead = [...entries];
  for (let entry = ahead.pop(); entry; entry = ahead.pop()) {
    const path = entry.fullPath.replace(/^\//, "");
    if (isFile(entry)) {
      items.push({ path, file: await fileOf(entry) });
      continue;
    }
    const inside = await namesIn(entry as FileSystemDirectoryEntry);
    if (inside.length === 0) items.push({ path, file: null });
    ahead.push(...inside);
  }
  return inOrder(items);
}

/** Neighbours in the tree become neighbours in packs: who reads a directory reads few of them. */
function inOrder(items: Item[]): Item[] {
  return items.sort((first, second) => (first.path < second.path ? -1 : 1));
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** All of them: browsers give a hundred at a time, and none when there are no more. */
async function namesIn(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}
