/** What a project takes of what all share, its quotas, and who has most of it. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { QuotaChange } from "./shapes";

export const usageQuery = (project: string) =>
  queryOptions({
    queryKey: ["quotas", project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/usage", { params: { path: { project } } })),
    refetchInterval: 30_000,
  });

export function useChangeQuota(project: string) {
  return useMutation({
    mutationFn: (body: QuotaChange) =>
      take(api.PATCH("/api/v1/projects/{project}/quota", { params: { path: { project } }, body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["quotas", project] }),
  });
}
