/** How caches are used: the numbers of now, and those of a volume over time. */
import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

const BUSY_MILLISECONDS = 2_000;
const CALM_MILLISECONDS = 30_000;

export const cachesSummaryQuery = queryOptions({
  queryKey: ["summary"],
  queryFn: () => take(api.GET("/api/v1/caches/summary")),
  // The speed of a fill changes all the time; whether volumes are connected changes without an event.
  refetchInterval: ({ state }) => (state.data?.fills.length ? BUSY_MILLISECONDS : CALM_MILLISECONDS),
});

/** The last `seconds` of a volume; a sample is taken every minute. */
export const volumeUsageQuery = (volume: string, seconds: number) =>
  queryOptions({
    queryKey: ["usage", volume, seconds],
    queryFn: () => {
      const from = new Date(Date.now() - seconds * 1000).toISOString();
      const params = { path: { volume }, query: { from } };
      return take(api.GET("/api/v1/volumes/{volume}/usage", { params }));
    },
    refetchInterval: 60_000,
  });
