/** Workspaces of a job that is being written, and when snapshots of them are taken for its run. */
import type { Job, JobCreate } from "../../../api/shapes";

export interface SnapshotChoice {
  start: boolean;
  end: boolean;
  everyMinutes: number | string;
}

export const NO_SNAPSHOTS: SnapshotChoice = { start: false, end: false, everyMinutes: "" };

type JobWorkspace = NonNullable<JobCreate["workspaces"]>[number];
type Moments = NonNullable<JobCreate["snapshots"]>;

interface Parts {
  workspace: string;
  target: string;
  readOnly: boolean;
}

/** `NAME:/path` or `NAME:/path:ro`. */
export function partsOf(written: string): Parts {
  const [workspace = "", target = "", access] = written.split(":");
  return { workspace, target, readOnly: access === "ro" };
}

export function writeParts({ workspace, target, readOnly }: Parts): string {
  return `${workspace}:${target}${readOnly ? ":ro" : ""}`;
}

export function workspaceOf(written: string): JobWorkspace {
  const { workspace, target, readOnly } = partsOf(written);
  return { workspace, target, read_only: readOnly, home: false, id: "", volume_id: "" };
}

export function writeWorkspace({ workspace, target, read_only }: Job["workspaces"][number]): string {
  return writeParts({ workspace, target, readOnly: read_only });
}

/** For forms: what is wrong with the first wrong one, null if none is. */
export function workspacesProblem(written: readonly string[]): string | null {
  for (const { workspace, target } of written.map(partsOf))
    if (!target.startsWith("/")) return `Write a path like /workspace for ${workspace}.`;
  const targets = written.map((one) => partsOf(one).target);
  const twice = targets.find((target, place) => targets.indexOf(target) !== place);
  return twice === undefined ? null : `Two workspaces have the same path: ${twice}.`;
}

export function momentsOf({ start, end, everyMinutes }: SnapshotChoice): Moments | null {
  const seconds = Math.round(Number(everyMinutes) * 60);
  return start || end || seconds > 0 ? { start, end, every_seconds: seconds } : null;
}

export function snapshotsOf(moments: Job["snapshots"]): SnapshotChoice {
  if (!moments) return NO_SNAPSHOTS;
  return { start: moments.start, end: moments.end, everyMinutes: moments.every_seconds / 60 || "" };
}

/** As the command line takes them: `start,end,every=30m`; empty for never. */
export function writeMoments(choice: SnapshotChoice): string {
  const {
    start,
    end,
    every_seconds: every,
  } = momentsOf(choice) ?? { start: false, end: false, every_seconds: 0 };
  const words = [
    start && "start",
    end && "end",
    every > 0 && `every=${every % 60 ? `${every}s` : `${every / 60}m`}`,
  ];
  return words.filter(Boolean).join(",");
}
