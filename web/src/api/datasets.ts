import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { DatasetKind, Retention } from "./shapes";

export interface DatasetPlace {
  project: string;
  dataset: string;
}

export interface DatasetFilter {
  project?: string;
  search?: string;
  /** What people made, if nothing is said. */
  kind?: DatasetKind;
  /** Those in the bin. */
  deleted?: true;
}

const refresh = () => queries.invalidateQueries({ queryKey: ["datasets"] });

export const datasetsQuery = (filter: DatasetFilter) =>
  paged(["datasets", "list", filter], (cursor) =>
    take(api.GET("/api/v1/datasets", { params: { query: { ...filter, cursor } } })),
  );

export const datasetTotalsQuery = (project?: string) =>
  queryOptions({
    queryKey: ["datasets", "totals", project],
    queryFn: () => take(api.GET("/api/v1/datasets/totals", { params: { query: { project } } })),
    refetchInterval: 60_000,
  });

export const datasetQuery = (place: DatasetPlace) =>
  queryOptions({
    queryKey: ["datasets", "one", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/datasets/{dataset}", { params: { path: place } })),
  });

export const refsQuery = (place: DatasetPlace) =>
  queryOptions({
    queryKey: ["datasets", "refs", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/refs", {
          params: { path: place, query: { limit: 1000 } },
        }),
      ),
  });

export function useCreateDataset() {
  return useMutation({
    mutationFn: ({ project, ...body }: { project: string; name: string; description: string }) =>
      take(api.POST("/api/v1/projects/{project}/datasets", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

interface DatasetChange {
  name?: string;
  description?: string;
  retention?: Retention | "off";
  cache_idle_seconds?: number | "default";
}

export function useChangeDataset(place: DatasetPlace) {
  return useMutation({
    mutationFn: (body: DatasetChange) =>
      take(api.PATCH("/api/v1/projects/{project}/datasets/{dataset}", { params: { path: place }, body })),
    onSuccess: (changed) => {
      queries.setQueryData(
        datasetQuery({ project: changed.project, dataset: changed.name }).queryKey,
        changed,
      );
      void refresh();
    },
  });
}

export function useDeleteDataset() {
  return useMutation({
    mutationFn: (place: DatasetPlace) =>
      take(api.DELETE("/api/v1/projects/{project}/datasets/{dataset}", { params: { path: place } })),
    onSuccess: (_, place) => {
      queries.removeQueries({ queryKey: ["datasets", "one", place] });
      return refresh();
    },
  });
}

/** Out of the bin; `dataset` is a name (the one deleted last) or an id. */
export function useUndeleteDataset() {
  return useMutation({
    mutationFn: (place: DatasetPlace) =>
      take(api.POST("/api/v1/projects/{project}/datasets/{dataset}/undelete", { params: { path: place } })),
    onSuccess: refresh,
  });
}

export function usePurgeDataset() {
  return useMutation({
    mutationFn: (place: DatasetPlace) =>
      take(api.POST("/api/v1/projects/{project}/datasets/{dataset}/purge", { params: { path: place } })),
    onSuccess: refresh,
  });
}
