/** What the addresses of endpoints say. */
export const ENDPOINT_TABS = [
  "overview",
  "traffic",
  "drift",
  "replay",
  "performance",
  "try",
  "history",
  "settings",
] as const;
export type EndpointTab = (typeof ENDPOINT_TABS)[number];

export const ENDPOINT_TAB_LABELS: Readonly<Record<EndpointTab, string>> = {
  overview: "Overview",
  traffic: "Traffic",
  drift: "Drift",
  replay: "Replay",
  performance: "Performance",
  try: "Try it",
  history: "History",
  settings: "Settings",
};
