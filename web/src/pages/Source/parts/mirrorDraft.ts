/** What the form of a new mirror asks for, and what it says of mirrors in words. */
import type { Mirror, MirrorCreate, MirrorResult } from "../../../api/shapes";
import { shellQuote } from "../../../lib/names";
import { formatBytes, formatSeconds, plural } from "../../../lib/quantity";

export interface MirrorDraft {
  from: "dataset" | "workspace";
  dataset: string;
  branch: string;
  workspace: string;
  label: string;
  to: "bucket" | "site";
  connection: string;
  uri: string;
  site: string;
  every: string;
}

export const EMPTY_MIRROR: MirrorDraft = {
  from: "dataset",
  dataset: "",
  branch: "main",
  workspace: "",
  label: "",
  to: "bucket",
  connection: "",
  uri: "",
  site: "",
  every: "3600",
};

export function mirrorOf(draft: MirrorDraft): MirrorCreate {
  const isDataset = draft.from === "dataset";
  const isBucket = draft.to === "bucket";
  return {
    source: isDataset ? `dataset:${draft.dataset}@${draft.branch}` : `workspace:${draft.workspace}`,
    target: isBucket ? draft.uri : draft.site,
    connection: isBucket ? draft.connection : null,
    label: isDataset ? "" : draft.label,
    every_seconds: Number(draft.every),
  };
}

export function mirrorCommand(project: string, draft: MirrorDraft): string {
  const asked = mirrorOf(draft);
  const words = [
    "mill mirror add",
    draft.dataset || draft.workspace ? shellQuote(asked.source) : "FROM",
    asked.target ? shellQuote(asked.target) : "TO",
    `-p ${shellQuote(project)}`,
    `--every ${draft.every}s`,
    asked.label && `--label ${shellQuote(asked.label)}`,
    asked.connection && `--connection ${shellQuote(asked.connection)}`,
  ];
  return words.filter(Boolean).join(" ");
}

/** `2 commits · 290.2 MB · 5 m`, or `up to date`. */
export function describeLag(lag: Mirror["lag"]): string {
  if (!lag) return "not counted yet";
  if (lag.commits === 0) return "up to date";
  return `${plural(lag.commits, "commit")} · ${formatBytes(lag.bytes)} · ${formatSeconds(Math.round(lag.seconds))}`;
}

/** `3 copied, 1 removed · 290.2 MB`, or `nothing new`. */
export function describeMirrored(result: MirrorResult): string {
  const counts = [
    [result.copied, "copied"],
    [result.removed, "removed"],
    [result.skipped_count ?? 0, "left out"],
    [result.failed_count ?? 0, "failed"],
  ] as const;
  const words = counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString("en")} ${word}`);
  return words.length ? `${words.join(", ")} · ${formatBytes(result.copied_bytes)}` : "nothing new";
}
