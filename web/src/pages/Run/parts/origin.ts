/** Where a run comes from, as its script told: anything may be missing, and nothing is taken on trust. */
import type { RunDetails } from "../../../api/shapes";

export interface GitOrigin {
  commit: string;
  branch: string;
  url: string;
  /** Files with uncommitted changes. */
  dirty: string[];
  diff: string;
  isDiffCut: boolean;
}

export interface Origin {
  command: string[];
  directory: string;
  host: string;
  os: string;
  user: string;
  python: string;
  packages: string[];
  git: GitOrigin | null;
}

export function originOf(run: Pick<RunDetails, "origin" | "tags">): Origin {
  const found = run.origin ?? {};
  return {
    command: texts(found.command),
    directory: text(found.directory),
    host: text(found.host),
    os: text(found.os),
    user: text(found.user),
    python: text(found.python),
    packages: texts(found.packages),
    git: gitOf(found.git) ?? gitOfTags(run.tags),
  };
}

function gitOf(value: unknown): GitOrigin | null {
  if (typeof value !== "object" || value === null) return null;
  const git = value as Record<string, unknown>;
  const commit = text(git.commit);
  if (!commit) return null;
  return {
    commit,
    branch: text(git.branch),
    url: text(git.url),
    dirty: texts(git.dirty),
    diff: text(git.diff),
    isDiffCut: git.is_diff_cut === true,
  };
}

/** `mill submit` writes where the code came from into tags, and MLflow's client its own. */
function gitOfTags(tags: Readonly<Record<string, string>>): GitOrigin | null {
  const commit = tags["git.commit"] ?? tags["mlflow.source.git.commit"];
  if (!commit) return null;
  return {
    commit,
    branch: tags["git.branch"] ?? tags["mlflow.source.git.branch"] ?? "",
    url: tags["git.url"] ?? tags["mlflow.source.git.repoURL"] ?? "",
    dirty: listed(tags["git.dirty_files"]),
    diff: "",
    isDiffCut: false,
  };
}

function listed(written: string | undefined): string[] {
  try {
    return texts(JSON.parse(written ?? "[]"));
  } catch {
    return [];
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
