import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { Schemas } from "./shapes";

export interface ClusterPlace {
  project: string;
  cluster: string;
}

const refresh = () => queries.invalidateQueries({ queryKey: ["clusters"] });

export const clustersQuery = (filter: { project?: string }) =>
  paged(["clusters", "list", filter], (cursor) =>
    take(api.GET("/api/v1/clusters", { params: { query: { ...filter, cursor } } })),
  );

export const clusterQuery = (place: ClusterPlace) =>
  queryOptions({
    queryKey: ["clusters", "one", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/clusters/{cluster}", { params: { path: place } })),
    // What its scheduler tells changes without an event.
    refetchInterval: 3_000,
  });

export function useCreateCluster(project: string) {
  return useMutation({
    mutationFn: (body: Schemas["ClusterCreate"]) =>
      take(api.POST("/api/v1/projects/{project}/clusters", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

export function useScaleCluster(place: ClusterPlace) {
  return useMutation({
    mutationFn: (body: Schemas["ClusterScaling"]) =>
      take(
        api.POST("/api/v1/projects/{project}/clusters/{cluster}/scale", { params: { path: place }, body }),
      ),
    onSuccess: refresh,
  });
}

export function useDeleteCluster(place: ClusterPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.DELETE("/api/v1/projects/{project}/clusters/{cluster}", { params: { path: place } })),
    onSuccess: refresh,
  });
}
