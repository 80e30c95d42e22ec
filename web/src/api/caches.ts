import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";

export interface CacheFilter {
  volume?: string;
  dataset?: string;
  project?: string;
}

export function refreshCaches(): Promise<unknown> {
  const nouns = ["caches", "volumes", "evictions", "commits", "commit", "datasets", "summary", "usage"];
  return Promise.all(nouns.map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
}

export const cachesQuery = (filter: CacheFilter) =>
  paged(["caches", filter], (cursor) =>
    take(api.GET("/api/v1/caches", { params: { query: { ...filter, cursor } } })),
  );

export const evictionsQuery = paged(["evictions"], (cursor) =>
  take(api.GET("/api/v1/evictions", { params: { query: { cursor, limit: 20 } } })),
);

export function useCacheCommit() {
  return useMutation({
    mutationFn: (body: { project: string; dataset: string; volume?: string }) =>
      take(api.POST("/api/v1/caches", { body })),
    onSettled: refreshCaches,
  });
}

export function useClearCached() {
  return useMutation({
    mutationFn: (cached: string) =>
      take(api.DELETE("/api/v1/caches/{cached}", { params: { path: { cached } } })),
    onSettled: refreshCaches,
  });
}

export function usePinCached() {
  return useMutation({
    mutationFn: ({ cached, pinned }: { cached: string; pinned: boolean }) => {
      const options = { params: { path: { cached } } };
      return take(
        pinned
          ? api.POST("/api/v1/caches/{cached}/pin", options)
          : api.DELETE("/api/v1/caches/{cached}/pin", options),
      );
    },
    onSettled: refreshCaches,
  });
}
