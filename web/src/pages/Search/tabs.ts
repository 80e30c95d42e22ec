/** What the addresses of searches say. */
import type { Search, SearchState, TrialState } from "../../api/shapes";
import { count, flag, oneOf, text } from "../../lib/search";

export const SEARCH_STATES: readonly SearchState[] = [
  "running",
  "paused",
  "completed",
  "failed",
  "cancelled",
];
export const TRIAL_STATES: readonly TrialState[] = [
  "waiting",
  "running",
  "succeeded",
  "pruned",
  "failed",
  "cancelled",
];

export const SEARCH_TABS = ["overview", "trials", "front", "parallel"] as const;
export type SearchTab = (typeof SEARCH_TABS)[number];

export const SEARCH_TAB_LABELS: Readonly<Record<SearchTab, string>> = {
  overview: "Overview",
  trials: "Trials",
  front: "Front",
  parallel: "Parallel coordinates",
};

/** Only with several objectives there is a front of trials that none other beats in everything. */
export function searchTabsOf(search: Search): SearchTab[] {
  return SEARCH_TABS.filter((tab) => tab !== "front" || search.objectives.length > 1);
}

export interface SearchSearch {
  tab?: SearchTab;
  page?: number;
  sort?: string;
  desc?: true;
  state?: TrialState;
  /** Axes of the parallel coordinates, by commas. */
  axes?: string;
  /** Objectives on the axes of the front. */
  fx?: string;
  fy?: string;
}

export function readSearchSearch(raw: Record<string, unknown>): SearchSearch {
  return {
    tab: oneOf(raw, "tab", SEARCH_TABS),
    page: count(raw, "page"),
    sort: text(raw, "sort"),
    desc: flag(raw, "desc"),
    state: oneOf(raw, "state", TRIAL_STATES),
    axes: text(raw, "axes"),
    fx: text(raw, "fx"),
    fy: text(raw, "fy"),
  };
}
