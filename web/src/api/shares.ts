/** How projects share the GPUs: now, and over time. */
import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const sharesQuery = queryOptions({
  queryKey: ["shares", "now"],
  queryFn: () => take(api.GET("/api/v1/shares")),
  refetchInterval: 10_000,
});

/** The last `seconds`; a sample is taken every minute, and kept by the hour after a day. */
export const sharesHistoryQuery = (seconds: number) =>
  queryOptions({
    queryKey: ["shares-history", seconds],
    queryFn: () => {
      const from = new Date(Date.now() - seconds * 1000).toISOString();
      return take(api.GET("/api/v1/shares/history", { params: { query: { from } } }));
    },
    refetchInterval: 60_000,
  });
