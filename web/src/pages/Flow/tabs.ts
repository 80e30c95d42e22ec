export const FLOW_TABS = ["edit", "runs", "triggers", "versions"] as const;
export type FlowTab = (typeof FLOW_TABS)[number];

export const FLOW_RUN_TABS = ["graph", "steps", "timeline"] as const;
export type FlowRunTab = (typeof FLOW_RUN_TABS)[number];
