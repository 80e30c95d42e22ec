/** Why a commit is cached or not, what goes next, and the branches that are kept cached. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { type CacheFilter, refreshCaches } from "./caches";
import { api, take } from "./client";
import { paged } from "./paging";

/** `dataset` in written form, with a commit: digits@3fa2c1. */
export const whyQuery = (project: string, dataset: string) =>
  queryOptions({
    queryKey: ["why", project, dataset],
    queryFn: () => take(api.GET("/api/v1/cache-why", { params: { query: { project, dataset } } })),
  });

/** Of one volume, or of all. */
export const planQuery = (volume?: string) =>
  queryOptions({
    queryKey: ["plan", volume],
    queryFn: () => take(api.GET("/api/v1/cache-plan", { params: { query: { volume } } })),
    // What is planned moves with time alone.
    refetchInterval: 60_000,
  });

/** What each volume would answer if somebody asked for the commit now; `dataset` in written form. */
export const offersQuery = (project: string, dataset: string) =>
  queryOptions({
    queryKey: ["offers", project, dataset],
    queryFn: () => take(api.GET("/api/v1/cache-offers", { params: { query: { project, dataset } } })),
  });

/** What was refused last and is not there since; of one volume, or of all. */
export const refusalsQuery = (volume?: string) =>
  queryOptions({
    queryKey: ["refusals", volume],
    queryFn: () => take(api.GET("/api/v1/cache-refusals", { params: { query: { volume, limit: 20 } } })),
  });

export const policiesQuery = (filter: CacheFilter) =>
  paged(["policies", filter], (cursor) =>
    take(api.GET("/api/v1/cache-policies", { params: { query: { ...filter, cursor } } })),
  );

export function useKeepBranch() {
  return useMutation({
    mutationFn: (body: { project: string; dataset: string; volume: string }) =>
      take(api.POST("/api/v1/cache-policies", { body })),
    onSettled: refreshCaches,
  });
}

export function useUnkeepBranch() {
  return useMutation({
    mutationFn: (policy: string) =>
      take(api.DELETE("/api/v1/cache-policies/{policy}", { params: { path: { policy } } })),
    onSettled: refreshCaches,
  });
}
