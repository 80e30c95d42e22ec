import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { LakeReplicaCreate, LinkPut, RateLimitPut } from "./shapes";

export const sitesQuery = queryOptions({
  queryKey: ["sites"],
  queryFn: () => take(api.GET("/api/v1/sites", { params: { query: { limit: 1000 } } })),
});

export const topologyQuery = queryOptions({
  queryKey: ["topology"],
  queryFn: () => take(api.GET("/api/v1/topology")),
  // Computes and volumes come and go without an event.
  refetchInterval: 15_000,
});

export const siteQuery = (site: string) =>
  queryOptions({
    queryKey: ["sites", site],
    queryFn: () => take(api.GET("/api/v1/sites/{site}", { params: { path: { site } } })),
    refetchInterval: 15_000,
  });

export const lakeReplicasQuery = queryOptions({
  queryKey: ["lake-replicas"],
  queryFn: () => take(api.GET("/api/v1/lake/replicas")),
  refetchInterval: 15_000,
});

function refreshTopology(): Promise<unknown> {
  return Promise.all(
    ["topology", "sites", "volumes", "lake-replicas"].map((noun) =>
      queries.invalidateQueries({ queryKey: [noun] }),
    ),
  );
}

export function useAddSite() {
  return useMutation({
    mutationFn: (name: string) => take(api.POST("/api/v1/sites", { body: { name } })),
    onSuccess: refreshTopology,
  });
}

export function useChangeSite() {
  return useMutation({
    mutationFn: ({
      site,
      ...body
    }: {
      site: string;
      address?: string | null;
      lake_endpoint?: string | null;
    }) => take(api.PUT("/api/v1/sites/{site}", { params: { path: { site } }, body })),
    onSuccess: refreshTopology,
  });
}

export function useLetPlacementsLast() {
  return useMutation({
    mutationFn: ({ site, seconds }: { site: string; seconds: number | null }) =>
      take(api.PUT("/api/v1/sites/{site}/placements", { params: { path: { site } }, body: { seconds } })),
    onSuccess: refreshTopology,
  });
}

export function useRemoveSite() {
  return useMutation({
    mutationFn: (site: string) => take(api.DELETE("/api/v1/sites/{site}", { params: { path: { site } } })),
    onSuccess: refreshTopology,
  });
}

export interface Ends {
  a: string;
  b: string;
}

export function usePutLink() {
  return useMutation({
    mutationFn: ({ a, b, ...body }: Ends & LinkPut) =>
      take(api.PUT("/api/v1/links/{a}/{b}", { params: { path: { a, b } }, body })),
    onSuccess: refreshTopology,
  });
}

export function useRemoveLink() {
  return useMutation({
    mutationFn: ({ a, b }: Ends) => take(api.DELETE("/api/v1/links/{a}/{b}", { params: { path: { a, b } } })),
    onSuccess: refreshTopology,
  });
}

/** What has a limit: a link by its ends, or a site. */
export type Limited = Ends | { site: string };

export function usePutLimit() {
  return useMutation({
    mutationFn: async ({ of, limit }: { of: Limited; limit: RateLimitPut }): Promise<unknown> =>
      "site" in of
        ? take(api.PUT("/api/v1/sites/{site}/limit", { params: { path: of }, body: limit }))
        : take(api.PUT("/api/v1/links/{a}/{b}/limit", { params: { path: of }, body: limit })),
    onSuccess: refreshTopology,
  });
}

export function useRemoveLimit() {
  return useMutation({
    mutationFn: async (of: Limited): Promise<unknown> =>
      "site" in of
        ? take(api.DELETE("/api/v1/sites/{site}/limit", { params: { path: of } }))
        : take(api.DELETE("/api/v1/links/{a}/{b}/limit", { params: { path: of } })),
    onSuccess: refreshTopology,
  });
}

export function useAddLakeReplica() {
  return useMutation({
    mutationFn: (body: LakeReplicaCreate) => take(api.POST("/api/v1/lake/replicas", { body })),
    onSuccess: refreshTopology,
  });
}

export function useRemoveLakeReplica() {
  return useMutation({
    mutationFn: (replica: string) =>
      take(api.DELETE("/api/v1/lake/replicas/{replica}", { params: { path: { replica } } })),
    onSuccess: refreshTopology,
  });
}
