/** What the address of a comparison holds. */
import { flag, oneOf, text } from "../../lib/search";
import { type ChartSettings, readSettings } from "../Run/charts/settings";

export const COMPARE_TABS = ["charts", "values", "scatter", "parallel", "images"] as const;
export type CompareTab = (typeof COMPARE_TABS)[number];

export const METRIC_VALUES = ["last", "min", "max"] as const;
export type MetricValue = (typeof METRIC_VALUES)[number];

export interface CompareSearch extends ChartSettings {
  /** Ids, with commas between. */
  runs?: string;
  /** Of those, the ones that are not drawn. */
  hidden?: string;
  tab?: CompareTab;
  /** A parameter or tag, like `params.lr`: charts show its groups. */
  group?: string;
  /** Values that do not differ are listed, too. */
  all?: true;
  value?: MetricValue;
  /** Fields of the scatter plot. */
  sx?: string;
  sy?: string;
  sc?: string;
  /** Fields of the parallel coordinates, with commas between. */
  axes?: string;
}

export function readCompareSearch(raw: Record<string, unknown>): CompareSearch {
  return {
    ...readSettings(raw),
    runs: text(raw, "runs"),
    hidden: text(raw, "hidden"),
    tab: oneOf(raw, "tab", COMPARE_TABS),
    group: text(raw, "group"),
    all: flag(raw, "all"),
    value: oneOf(raw, "value", METRIC_VALUES),
    sx: text(raw, "sx"),
    sy: text(raw, "sy"),
    sc: text(raw, "sc"),
    axes: text(raw, "axes"),
  };
}

export function idsOf(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(",").filter(Boolean))];
}
