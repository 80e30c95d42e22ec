/** The command lines that do what the page does to a cached commit. */
import type { CachedCommit } from "../../../api/shapes";
import { shellQuote, shortId } from "../../../lib/names";

type Named = Pick<CachedCommit, "project" | "dataset" | "commit_id" | "volume">;

export function writtenOf({ project, dataset, commit_id }: Omit<Named, "volume">): string {
  return `${project}/${dataset}@${shortId(commit_id)}`;
}

/** `mill cache VERB project/dataset@commit --on volume` and what else it takes. */
export function cacheCommand(verb: string, cached: Named, ...more: string[]): string {
  return ["mill cache", verb, shellQuote(writtenOf(cached)), "--on", shellQuote(cached.volume), ...more].join(
    " ",
  );
}
