export const SHARES_TABS = ["projects", "running", "pending", "nodes"] as const;
export type SharesTab = (typeof SHARES_TABS)[number];

export const TAB_LABELS: Record<SharesTab, string> = {
  projects: "Projects",
  running: "Running jobs",
  pending: "Pending jobs",
  nodes: "Nodes",
};

/** How far back the chart shows. */
export const SHARES_RANGES = ["hour", "day", "week"] as const;
export type SharesRange = (typeof SHARES_RANGES)[number];

export interface SharesSearch {
  tab?: SharesTab;
  range?: SharesRange;
  project?: string;
  page?: number;
}

export const RANGE_SECONDS: Record<SharesRange, number> = { hour: 3600, day: 86_400, week: 7 * 86_400 };

export const RANGE_WORDS: Record<SharesRange, string> = { hour: "Hour", day: "Day", week: "Week" };
