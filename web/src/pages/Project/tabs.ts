export const PROJECT_TABS = [
  "datasets",
  "jobs",
  "performance",
  "usage",
  "members",
  "secrets",
  "notifications",
] as const;

export type ProjectTab = (typeof PROJECT_TABS)[number];
