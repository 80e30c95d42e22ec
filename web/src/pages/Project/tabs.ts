export const PROJECT_TABS = ["datasets", "jobs", "performance", "members", "secrets"] as const;

export type ProjectTab = (typeof PROJECT_TABS)[number];
