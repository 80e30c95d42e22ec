/** `git diff` taken apart by file. */

export interface FilePatch {
  name: string;
  added: number;
  removed: number;
  /** From the first `@@` on. */
  lines: string[];
}

const HEADER = /^diff --git (?:"?a\/.*?"?) "?b\/(.*?)"?$/;

/** A text that is no diff is one file without a name. */
export function filesOf(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  let inside = false;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const header = HEADER.exec(line);
    if (header || files.length === 0) {
      files.push({ name: header?.[1] ?? "changes", added: 0, removed: 0, lines: [] });
      inside = !header;
      if (header) continue;
    }
    const file = files.at(-1);
    if (!file) continue;
    inside ||= line.startsWith("@@") || line.startsWith("Binary files");
    if (!inside) continue;
    file.lines.push(line);
    if (line.startsWith("+")) file.added++;
    if (line.startsWith("-")) file.removed++;
  }
  return files;
}
