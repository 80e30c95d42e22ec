import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const computesQuery = queryOptions({
  queryKey: ["computes"],
  queryFn: () => take(api.GET("/api/v1/computes", { params: { query: { limit: 1000 } } })),
  refetchInterval: 10_000,
});
