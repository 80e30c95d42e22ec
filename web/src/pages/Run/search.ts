/** What the address of the list of runs holds. */
import { flag, text } from "../../lib/search";

export interface RunListSearch {
  project?: string;
  experiment?: string;
  /** A condition in the filter language, like `metrics.acc > 0.9`. */
  filter?: string;
  /** `metrics.acc desc`. */
  sort?: string;
  /** `state, params.lr, min(metrics.loss)`; what is usual without. */
  columns?: string;
  /** What runs are grouped by: `params.lr`. */
  group?: string;
  /** The saved view it began with, by id. */
  view?: string;
  deleted?: true;
  /** Ids of the selected runs, with commas between. */
  chosen?: string;
}

export function readRunSearch(raw: Record<string, unknown>): RunListSearch {
  return {
    project: text(raw, "project"),
    experiment: text(raw, "experiment"),
    filter: text(raw, "filter"),
    sort: text(raw, "sort"),
    columns: text(raw, "columns"),
    group: text(raw, "group"),
    view: text(raw, "view"),
    deleted: flag(raw, "deleted"),
    chosen: text(raw, "chosen"),
  };
}
