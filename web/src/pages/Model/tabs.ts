/** What the addresses of models say. */
import { count, oneOf, text } from "../../lib/search";

export const MODEL_TABS = ["versions", "compare", "bin"] as const;
export type ModelTab = (typeof MODEL_TABS)[number];

export const MODEL_TAB_LABELS: Readonly<Record<ModelTab, string>> = {
  versions: "Versions",
  compare: "Compare",
  bin: "Deleted versions",
};

export interface ModelSearch {
  tab?: ModelTab;
  page?: number;
  /** Metrics shown as columns, by commas. */
  metrics?: string;
  /** The two versions that are compared: numbers or aliases. */
  before?: string;
  after?: string;
}

export const VERSION_TABS = ["overview", "files", "lineage"] as const;
export type VersionTab = (typeof VERSION_TABS)[number];

export const VERSION_TAB_LABELS: Readonly<Record<VersionTab, string>> = {
  overview: "Overview",
  files: "Files",
  lineage: "Lineage",
};

export interface VersionSearch {
  tab?: VersionTab;
  path?: string;
  file?: string;
}

type Raw = Record<string, unknown>;

export const readModelSearch = (raw: Raw): ModelSearch => ({
  tab: oneOf(raw, "tab", MODEL_TABS),
  page: count(raw, "page"),
  metrics: text(raw, "metrics"),
  before: text(raw, "before"),
  after: text(raw, "after"),
});

export const readVersionSearch = (raw: Raw): VersionSearch => ({
  tab: oneOf(raw, "tab", VERSION_TABS),
  path: text(raw, "path"),
  file: text(raw, "file"),
});
