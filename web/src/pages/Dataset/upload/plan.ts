/** What an upload will put where, before anything is sent. */
import { shellQuote } from "../../../lib/names";
import { plural } from "../../../lib/quantity";
import { commonFolder, trimSlashes, whyNoPath } from "../../../lib/upload/paths";
import type { Item } from "../../../lib/upload/sending";

export interface Choice {
  readonly into: string;
  readonly keepFolder: boolean;
}

export interface Plan {
  readonly items: Item[];
  readonly files: number;
  readonly bytes: number;
  /** Paths that no tree can hold, with the reason; they are left out. */
  readonly refused: readonly { readonly path: string; readonly why: string }[];
}

/** The folder that was chosen, if it was one and nothing else. */
export function folderOf(items: readonly Item[]): string | null {
  return commonFolder(items.map((item) => item.path));
}

export function planUpload(items: readonly Item[], { into, keepFolder }: Choice): Plan {
  const folder = keepFolder ? null : folderOf(items);
  const prefix = trimSlashes(into.trim());
  const plan = { items: [] as Item[], files: 0, bytes: 0, refused: [] as { path: string; why: string }[] };
  for (const item of items) {
    const below = folder ? item.path.slice(folder.length + 1) : item.path;
    const path = prefix ? `${prefix}/${below}` : below;
    const why = whyNoPath(path);
    if (why) {
      plan.refused.push({ path, why });
      continue;
    }
    plan.items.push({ path, file: item.file });
    plan.files += item.file ? 1 : 0;
    plan.bytes += item.file?.size ?? 0;
  }
  return plan;
}

/** `Upload of images (3,214 files)`, `Upload of labels.csv`; `files` are those that go. */
export function messageFor(items: readonly Item[], files: number): string {
  const folder = folderOf(items);
  if (folder) return `Upload of ${folder} (${plural(files, "file")})`;
  return items.length === 1 ? `Upload of ${items[0]?.path}` : `Upload of ${plural(files, "file")}`;
}

/** The command that does the same. */
export function uploadCommand(written: string, items: readonly Item[], choice: Choice): string {
  const prefix = trimSlashes(choice.into.trim());
  const folder = folderOf(items);
  if (!folder) {
    const names = items.slice(0, 3).map((item) => shellQuote(item.path));
    return `mill data put ${names.join(" ")}${items.length > 3 ? " …" : ""} ${shellQuote(`${written}:${prefix}/`)}`;
  }
  const source = choice.keepFolder ? folder : `${folder}/.`;
  const copy = prefix ? `mkdir -p copy/${shellQuote(prefix)} && ` : "";
  const target = prefix ? `copy/${prefix}/` : "copy/";
  return `mill data clone ${shellQuote(written)} copy && ${copy}cp -r ${shellQuote(source)} ${shellQuote(target)} && cd copy && mill data sync`;
}
