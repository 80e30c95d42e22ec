/** Files of steps as the server writes them: `project/dataset@COMMIT:path`. */
export interface FilesPlace {
  project: string;
  dataset: string;
  commit: string;
  path: string;
}

export function filesPlace(value: unknown): FilesPlace | null {
  const found =
    typeof value === "string" ? /^([^/@\s]+)\/([^/@\s]+)@([0-9a-f]{64})(?::(.*))?$/.exec(value) : null;
  if (!found) return null;
  const [, project = "", dataset = "", commit = "", path = ""] = found;
  return { project, dataset, commit, path };
}

/** `words#2/show[0]` → the run `words#2` and its step `show`. */
export function rememberedPlace(written: string): { run: string; step: string } | null {
  const found = /^(.+#\d+)\/([^[]+)(?:\[\d+\])?$/.exec(written);
  return found ? { run: found[1] as string, step: found[2] as string } : null;
}
