/** Where what was found is shown, and how it is told. */
import {
  type Icon,
  IconBox,
  IconCloudDownload,
  IconCpu,
  IconCube,
  IconDatabase,
  IconFolders,
  IconGitBranch,
  IconGitCommit,
  IconMapPin,
  IconPlayerPlay,
  IconPlugConnected,
  IconRipple,
  IconTag,
  IconTimeline,
  IconUser,
  IconZoomScan,
} from "@tabler/icons-react";
import type { Found } from "../../api/shapes";
import { shortId } from "../../lib/names";

export const FOUND_ICONS: Record<Found["noun"], Icon> = {
  project: IconFolders,
  dataset: IconDatabase,
  job: IconPlayerPlay,
  run: IconTimeline,
  search: IconZoomScan,
  model: IconCube,
  compute: IconCpu,
  volume: IconRipple,
  site: IconMapPin,
  source: IconCloudDownload,
  connection: IconPlugConnected,
  tag: IconTag,
  branch: IconGitBranch,
  commit: IconGitCommit,
  user: IconUser,
};

export const UNKNOWN_ICON = IconBox;

export function labelOf(found: Found): string {
  if (found.noun === "commit") return shortId(found.name);
  if (found.noun === "branch" || found.noun === "tag") return `${found.dataset}@${found.name}`;
  return found.name;
}

/** `Job in vision · failed`. */
export function descriptionOf(found: Found): string {
  const noun = found.noun.charAt(0).toUpperCase() + found.noun.slice(1);
  const owner = found.noun === "commit" ? `${found.project}/${found.dataset}` : found.project;
  const where = owner && found.noun !== "project" ? ` in ${owner}` : "";
  return `${noun}${where}${found.detail ? ` · ${found.detail}` : ""}`;
}

/** The address to open, in the router's terms. */
export function addressOf(found: Found) {
  const { noun, name, id } = found;
  const project = found.project ?? "";
  const dataset = { project, dataset: found.dataset ?? "" };
  switch (noun) {
    case "dataset":
      return { to: "/projects/$project/datasets/$dataset", params: { project, dataset: name } } as const;
    case "model":
      return { to: "/projects/$project/models/$model", params: { project, model: name } } as const;
    case "search":
      return { to: "/projects/$project/searches/$search", params: { project, search: id } } as const;
    case "commit":
      return {
        to: "/projects/$project/datasets/$dataset",
        params: dataset,
        search: { tab: "commit", ref: id },
      } as const;
    case "branch":
    case "tag":
      return {
        to: "/projects/$project/datasets/$dataset",
        params: dataset,
        search: { tab: "commits", ref: name },
      } as const;
    case "job":
      return { to: "/projects/$project/jobs/$job", params: { project, job: id } } as const;
    case "run":
      return { to: "/projects/$project/runs/$run", params: { project, run: id } } as const;
    case "compute":
      return { to: "/compute/$compute", params: { compute: name } } as const;
    case "volume":
      return { to: "/caches/$volume", params: { volume: name } } as const;
    case "source":
      return { to: "/sources", search: { project } } as const;
    case "connection":
      return { to: "/sources", search: { project, tab: "connections" } } as const;
    case "site":
      return { to: "/topology" } as const;
    case "user":
      return { to: "/users" } as const;
    case "project":
      return { to: "/projects/$project", params: { project: name } } as const;
    default:
      return { to: "/" } as const;
  }
}
