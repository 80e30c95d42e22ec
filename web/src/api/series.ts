/** Points of metrics for charts: of one or many runs, thinned by the server, exact for a stretch that is short. */
import { queryOptions } from "@tanstack/react-query";
import { atMost, batching } from "../lib/batching";
import { api, take } from "./client";
import type { Series } from "./shapes";

export interface SeriesAsked {
  project: string;
  runs: readonly string[];
  keys: readonly string[];
  /** Steps, both included; without them all. */
  start?: number;
  end?: number;
  /** Whether the times of points are needed; a third less comes without. */
  times?: boolean;
}

interface About {
  project: string;
  runs: readonly string[];
  times: boolean;
  start?: number;
  end?: number;
  limit: number;
}

/** So many points of all runs are drawn in one chart: more cannot be told apart. */
const POINTS = 30_000;
/** So many series are asked for at once: what a chart needs comes before all charts have come. */
const SERIES = 120;

/** Two at a time: the first chart is there while the server reads the next. */
const inTurn = atMost(2);

const asked = batching(
  ({ project, runs, ...rest }: About, keys: string[]) =>
    inTurn(() =>
      take(
        api.POST("/api/v1/projects/{project}/runs/metrics", {
          params: { path: { project } },
          body: { runs: [...runs], keys, ...rest },
        }),
      ).then((list): readonly Series[] => list.items),
    ),
  (items, keys) => items.filter((series) => keys.includes(series.key)),
  ({ runs }) => Math.min(100, Math.ceil(SERIES / runs.length)),
);

/** The third part of the key is what an event about a run makes stale. */
export const seriesQuery = ({ project, runs, keys, start, end, times = false }: SeriesAsked) =>
  queryOptions({
    queryKey: ["runs", "series", runs.length === 1 ? runs[0] : runs, project, keys, start, end, times],
    queryFn: () => {
      const limit = Math.min(1500, Math.max(150, Math.floor(POINTS / runs.length)));
      return asked({ project, runs, start, end, limit, times }, keys);
    },
    enabled: runs.length > 0 && keys.length > 0,
  });
