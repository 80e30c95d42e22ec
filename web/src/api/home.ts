import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const homeQuery = queryOptions({
  queryKey: ["home"],
  queryFn: () => take(api.GET("/api/v1/home")),
  // Computes come and go without an event.
  refetchInterval: 20_000,
});

/** What happened lately, where one may look. */
export const activityQuery = queryOptions({
  queryKey: ["activity"],
  queryFn: () => take(api.GET("/api/v1/activity", { params: { query: { limit: 15 } } })),
  refetchInterval: 60_000,
});
