import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { computesQuery } from "./computes";
import type { ElasticCreate, ElasticPut } from "./shapes";

/** All of them: sites have a few. */
export const elasticQuery = queryOptions({
  queryKey: ["elastic"],
  queryFn: () => take(api.GET("/api/v1/elastic", { params: { query: { limit: 1000 } } })),
  // Machines are created and deleted without an event.
  refetchInterval: 5_000,
});

/** What jobs and templates can name as their compute: attached and elastic ones. */
export function useComputeNames(): string[] {
  const computes = useQuery(computesQuery).data?.items ?? [];
  const elastic = useQuery(elasticQuery).data?.items ?? [];
  return [...new Set([...computes, ...elastic].map(({ name }) => name))];
}

const refresh = () => queries.invalidateQueries({ queryKey: ["elastic"] });

export function useCreateElastic() {
  return useMutation({
    mutationFn: (body: ElasticCreate) => take(api.POST("/api/v1/elastic", { body })),
    onSuccess: refresh,
  });
}

export function useChangeElastic(name: string) {
  return useMutation({
    mutationFn: (body: ElasticPut) =>
      take(api.PUT("/api/v1/elastic/{elastic_name}", { params: { path: { elastic_name: name } }, body })),
    onSuccess: refresh,
  });
}

export function useRemoveElastic() {
  return useMutation({
    mutationFn: (name: string) =>
      take(api.DELETE("/api/v1/elastic/{elastic_name}", { params: { path: { elastic_name: name } } })),
    onSuccess: refresh,
  });
}
