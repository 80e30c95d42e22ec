/** The tabs of the page of all caches. */
export const CACHE_TABS = ["commits", "files", "volumes", "branches", "evictions"] as const;
export type CacheTab = (typeof CACHE_TABS)[number];

/** The tabs of a volume's page. */
export const VOLUME_TABS = ["overview", "commits", "files", "branches", "evictions", "limits"] as const;
export type VolumeTab = (typeof VOLUME_TABS)[number];

/** What jobs run and make is cached as datasets are, and listed apart from them. */
export const TAB_LABELS: Record<CacheTab | VolumeTab, string> = {
  overview: "Overview",
  commits: "Cached commits",
  files: "Code and outputs",
  volumes: "Volumes",
  branches: "Kept branches",
  evictions: "Evictions",
  limits: "Limits",
};
