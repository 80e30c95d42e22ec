/** What happened, in words, and where one looks at it. */
import type { Happening } from "../../api/shapes";

const VERBS: Record<string, string> = {
  "branch.create": "made the branch",
  "branch.delete": "removed the branch",
  "branch.move": "merged into",
  "cache.add": "cached",
  "cache.clear": "cleared",
  "cache.change": "set the idle time of",
  "cache.hold": "holds",
  "cache.keep": "keeps cached",
  "cache.pin": "pinned",
  "cache.release": "released",
  "cache.unkeep": "no longer keeps cached",
  "cache.unpin": "unpinned",
  "cache.verify": "has verified",
  "compute.cordon": "cordoned",
  "compute.detach": "detached",
  "compute.join": "joined as the compute",
  "compute.uncordon": "opened",
  "dataset.cache_idle": "set the idle time of",
  "dataset.change": "described",
  "dataset.commit": "committed to",
  "dataset.create": "made the dataset",
  "dataset.delete": "moved to the bin",
  "dataset.rename": "renamed",
  "dataset.retention": "set what is kept of",
  "dataset.undelete": "brought back",
  "endpoint.canary": "started a canary of",
  "endpoint.create": "made the endpoint",
  "endpoint.delete": "deleted the endpoint",
  "endpoint.drift": "found drift of",
  "endpoint.drift-over": "no longer finds drift of",
  "endpoint.promote": "promoted the canary of",
  "endpoint.push": "pushed a version to sites of",
  "endpoint.rollback": "rolled back",
  "endpoint.scale": "scaled",
  "endpoint.update": "updated the endpoint",
  "flow.approve": "approved a step of",
  "flow.backfill": "started a backfill of",
  "flow.cancel": "cancelled",
  "flow.cancel-backfill": "cancelled a backfill of",
  "flow.delete": "removed the flow",
  "flow.disable-trigger": "disabled a trigger of",
  "flow.enable-trigger": "enabled a trigger of",
  "flow.fire-trigger": "fired a trigger of",
  "flow.reject": "rejected a step of",
  "flow.retry": "retried",
  "flow.rotate-secret": "replaced the secret of a webhook of",
  "flow.run": "started",
  "flow.save": "saved the flow",
  "job.delete": "moved to the bin",
  "job.exec": "ran a command in",
  "job.port": "opened a port of",
  "job.stop": "stopped",
  "job.submit": "submitted",
  "job.undelete": "brought back",
  "link.remove": "forgot the link",
  "link.set": "described the link",
  "project.create": "made the project",
  "run.create": "began the run",
  "run.delete": "moved to the bin",
  "run.undelete": "brought back",
  "site.create": "added the site",
  "site.remove": "removed the site",
  "source.create": "added the source",
  "source.run": "ran the source",
  "tag.create": "tagged",
  "tag.delete": "removed the tag",
  "volume.change": "changed the volume",
  "volume.create": "added the volume",
  "volume.delete": "removed the volume",
  "volume.limit": "set a limit on the volume",
};

/** A job that ended: nobody did that, so the sentence begins with the job. */
const ENDINGS: Record<string, string> = {
  "job.cancelled": "was cancelled",
  "job.failed": "failed",
  "job.succeeded": "succeeded",
};

/** How the job ended, or nothing where somebody did something. */
export function endingOf({ action }: Happening): string | undefined {
  return ENDINGS[action];
}

/** What somebody did; an action without words of its own is said by its name. */
export function verbOf({ action }: Happening): string {
  const [noun = "", verb = ""] = action.split(".");
  return VERBS[action] ?? `${verb.replaceAll(/[-_]/g, " ")} (${noun.replaceAll("_", " ")})`;
}

/** `project/dataset@ref` or `project/dataset`, taken apart. */
export function datasetOf({ action, subject, project }: Happening): { dataset: string; ref?: string } | null {
  const [noun] = action.split(".");
  if (!project || !["dataset", "branch", "tag", "cache"].includes(noun ?? "")) return null;
  const [written = "", ref] = subject.split("@");
  if (!written.startsWith(`${project}/`)) return null;
  return { dataset: written.slice(project.length + 1), ref };
}
