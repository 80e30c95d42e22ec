/** Uploads that were not committed when their page went away: what to do again, but not the files themselves. */
import { readChoice, writeChoice } from "../storage";

const NAME = "uploads";

export interface Unfinished {
  readonly id: string;
  /** Who began it: nobody else who uses this browser sees it. */
  readonly by: string;
  readonly project: string;
  readonly dataset: string;
  readonly branch: string;
  readonly into: string;
  readonly keepFolder: boolean;
  readonly message: string;
  readonly files: number;
  readonly bytes: number;
  readonly at: string;
}

export function listUnfinished(): Unfinished[] {
  try {
    const found: unknown = JSON.parse(readChoice(NAME) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

export function noteUnfinished(upload: Unfinished): void {
  write([...listUnfinished().filter((other) => other.id !== upload.id), upload]);
}

export function forgetUnfinished(id: string): void {
  write(listUnfinished().filter((upload) => upload.id !== id));
}

function write(uploads: readonly Unfinished[]): void {
  writeChoice(NAME, JSON.stringify(uploads.slice(-20)));
}
