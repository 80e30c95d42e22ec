/** The places of the page: what the navigation, the palette and the keyboard lead to. */
import {
  type Icon,
  IconChartPie,
  IconCloudDownload,
  IconCpu,
  IconCube,
  IconDatabase,
  IconDatabaseExport,
  IconFolders,
  IconHistory,
  IconHome,
  IconKey,
  IconLayersIntersect,
  IconListNumbers,
  IconLogin2,
  IconMail,
  IconPackages,
  IconPlayerPlay,
  IconPlugConnected,
  IconRipple,
  IconRoute,
  IconShare2,
  IconStethoscope,
  IconTemplate,
  IconTimeline,
  IconTopologyStar3,
  IconUsers,
  IconZoomScan,
} from "@tabler/icons-react";

export interface Place {
  readonly to:
    | "/"
    | "/datasets"
    | "/caches"
    | "/sources"
    | "/jobs"
    | "/runs"
    | "/flows"
    | "/models"
    | "/endpoints"
    | "/clusters"
    | "/workspaces"
    | "/searches"
    | "/library"
    | "/compute"
    | "/shares"
    | "/templates"
    | "/queues"
    | "/topology"
    | "/projects"
    | "/tokens"
    | "/users"
    | "/sign-in"
    | "/audit"
    | "/backups"
    | "/mail"
    | "/server";
  readonly label: string;
  readonly icon: Icon;
  readonly keys?: string;
  readonly siteAdmin?: boolean;
}

export interface Group {
  readonly label: string;
  readonly places: readonly Place[];
}

export const GROUPS: readonly Group[] = [
  { label: "", places: [{ to: "/", label: "Home", icon: IconHome, keys: "g h" }] },
  {
    label: "Data",
    places: [
      { to: "/datasets", label: "Datasets", icon: IconDatabase, keys: "g d" },
      { to: "/caches", label: "Caches", icon: IconRipple, keys: "g c" },
      { to: "/sources", label: "Sources, mirrors", icon: IconCloudDownload, keys: "g s" },
    ],
  },
  {
    label: "Work",
    places: [
      { to: "/jobs", label: "Jobs", icon: IconPlayerPlay, keys: "g j" },
      { to: "/runs", label: "Runs", icon: IconTimeline, keys: "g r" },
      { to: "/searches", label: "Searches", icon: IconZoomScan },
      { to: "/flows", label: "Flows", icon: IconRoute, keys: "g f" },
      { to: "/workspaces", label: "Workspaces", icon: IconLayersIntersect, keys: "g w" },
      { to: "/models", label: "Models", icon: IconCube, keys: "g m" },
      { to: "/endpoints", label: "Endpoints", icon: IconPlugConnected, keys: "g e" },
      { to: "/clusters", label: "Clusters", icon: IconShare2 },
      { to: "/library", label: "Library", icon: IconPackages, keys: "g l" },
    ],
  },
  {
    label: "Resources",
    places: [
      { to: "/shares", label: "Queue & shares", icon: IconChartPie, keys: "g q" },
      { to: "/compute", label: "Compute", icon: IconCpu },
      { to: "/templates", label: "Templates", icon: IconTemplate },
      { to: "/queues", label: "Queues", icon: IconListNumbers },
      { to: "/topology", label: "Topology", icon: IconTopologyStar3, keys: "g t" },
    ],
  },
  {
    label: "Admin",
    places: [
      { to: "/projects", label: "Projects", icon: IconFolders },
      { to: "/tokens", label: "Tokens", icon: IconKey },
      { to: "/users", label: "Users", icon: IconUsers, siteAdmin: true },
      { to: "/sign-in", label: "Sign-in", icon: IconLogin2, siteAdmin: true },
      { to: "/audit", label: "Audit", icon: IconHistory, siteAdmin: true },
      { to: "/server", label: "Server", icon: IconStethoscope, siteAdmin: true },
      { to: "/backups", label: "Backups", icon: IconDatabaseExport, siteAdmin: true },
      { to: "/mail", label: "E-mail", icon: IconMail, siteAdmin: true },
    ],
  },
];

/** What somebody may open. */
export function placesFor(isAdmin: boolean): Place[] {
  return GROUPS.flatMap((group) => group.places).filter((place) => isAdmin || !place.siteAdmin);
}
