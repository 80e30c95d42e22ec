import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { byPage, paged } from "./paging";
import type { DatasetKind } from "./shapes";

export interface CacheFilter {
  volume?: string;
  dataset?: string;
  project?: string;
}

export function refreshCaches(): Promise<unknown> {
  const nouns = [
    "caches",
    "volumes",
    "evictions",
    "commits",
    "commit",
    "datasets",
    "summary",
    "usage",
    "plan",
    "offers",
    "refusals",
    "why",
    "policies",
  ];
  return Promise.all(nouns.map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
}

/** What people made, or what jobs run and make. */
export type CachedKind = "data" | "jobs";

const KINDS: Record<CachedKind, DatasetKind[]> = { data: ["data"], jobs: ["code", "output", "artifact"] };

export const cachesPages = (filter: CacheFilter, kind: CachedKind) =>
  byPage(["caches", filter, kind], (cursor) =>
    take(api.GET("/api/v1/caches", { params: { query: { ...filter, kind: KINDS[kind], cursor } } })),
  );

/** Of one dataset, all at once: what its commits are marked with. */
export const cachesOfDatasetQuery = (place: { project: string; dataset: string }) =>
  queryOptions({
    queryKey: ["caches", "of", place],
    queryFn: () => take(api.GET("/api/v1/caches", { params: { query: { ...place, limit: 1000 } } })),
  });

/** Of one volume, or of all. */
export const evictionsQuery = (volume?: string) =>
  paged(["evictions", volume], (cursor) =>
    take(api.GET("/api/v1/evictions", { params: { query: { volume, cursor, limit: 20 } } })),
  );

/** Asks for a change of cached commits, and looks again at what it touched. */
function useCacheChange<Asked, Answer>(ask: (asked: Asked) => Promise<Answer>) {
  return useMutation({ mutationFn: ask, onSettled: refreshCaches });
}

export interface CacheRequest {
  project: string;
  dataset: string;
  volume?: string;
  /** A compute, or a site, that it shall be near. */
  near?: string;
}

export function useCacheCommit() {
  return useCacheChange((body: CacheRequest) => take(api.POST("/api/v1/caches", { body })));
}

export function useClearCached() {
  return useCacheChange((cached: string) =>
    take(api.DELETE("/api/v1/caches/{cached}", { params: { path: { cached } } })),
  );
}

export function usePinCached() {
  return useCacheChange(({ cached, pinned }: { cached: string; pinned: boolean }) => {
    const options = { params: { path: { cached } } };
    return take(
      pinned
        ? api.POST("/api/v1/caches/{cached}/pin", options)
        : api.DELETE("/api/v1/caches/{cached}/pin", options),
    );
  });
}

export function useHoldCached() {
  return useCacheChange(({ cached, seconds }: { cached: string; seconds: number }) =>
    take(
      api.POST("/api/v1/caches/{cached}/hold", {
        params: { path: { cached } },
        body: { kind: "hold", seconds, reason: "" },
      }),
    ),
  );
}

/** One's own holds, or as an administrator of the project those of another user. */
export function useReleaseCached() {
  return useCacheChange(({ cached, user }: { cached: string; user?: string }) =>
    take(api.DELETE("/api/v1/caches/{cached}/hold", { params: { path: { cached }, query: { user } } })),
  );
}

export function useIdleOfCached() {
  return useCacheChange(({ cached, idle_seconds }: { cached: string; idle_seconds: number | "default" }) =>
    take(api.PATCH("/api/v1/caches/{cached}", { params: { path: { cached } }, body: { idle_seconds } })),
  );
}

export function useVerifyCached() {
  return useCacheChange((cached: string) =>
    take(api.POST("/api/v1/caches/{cached}/verify", { params: { path: { cached } } })),
  );
}
