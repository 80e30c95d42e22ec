/** What the addresses of workspaces say. */
export const WORKSPACE_TABS = ["snapshots", "files", "diff", "clones", "settings"] as const;
export type WorkspaceTab = (typeof WORKSPACE_TABS)[number];

export const WORKSPACE_TAB_LABELS: Readonly<Record<WorkspaceTab, string>> = {
  snapshots: "Snapshots",
  files: "Files",
  diff: "Diff",
  clones: "Clones",
  settings: "Settings",
};

export interface WorkspaceSearch {
  tab?: WorkspaceTab;
  snapshot?: string;
  path?: string;
  before?: string;
  after?: string;
}
