/** The waiting line of all projects. */
import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const pendingQuery = (project: string | undefined) =>
  queryOptions({
    queryKey: ["pending", project],
    queryFn: () => take(api.GET("/api/v1/pending", { params: { query: { project } } })),
    // What runs ends without an event of those that wait.
    refetchInterval: 15_000,
  });
