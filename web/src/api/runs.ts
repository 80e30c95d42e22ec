import { queryOptions, useMutation } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, take } from "./client";
import { refreshJobs } from "./jobs";
import { paged } from "./paging";

export interface RunPlace {
  project: string;
  run: string;
}

export interface RunFilter {
  project?: string;
  experiment?: string;
  deleted?: boolean;
}

/** A chart a few hundred pixels wide shows no more points than this. */
const CHART_POINTS = 2000;

/** One page of them; `cursor` is where it begins. */
export const runPageQuery = (filter: RunFilter, cursor: string | undefined) =>
  queryOptions({
    queryKey: ["runs", "page", filter, cursor],
    queryFn: () => take(api.GET("/api/v1/runs", { params: { query: { ...filter, cursor, limit: 100 } } })),
  });

export const runQuery = (place: RunPlace) =>
  queryOptions({
    queryKey: ["runs", "one", place.run, place.project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/runs/{run}", { params: { path: place } })),
  });

export const metricsQuery = (place: RunPlace) =>
  queryOptions({
    queryKey: ["runs", "metrics", place.run, place.project],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/runs/{run}/metrics", {
          params: { path: place, query: { limit: CHART_POINTS } },
        }),
      ),
  });

export const artifactsQuery = (place: RunPlace) =>
  paged(["runs", "artifacts", place.run, place.project], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/runs/{run}/artifacts", {
        params: { path: place, query: { cursor } },
      }),
    ),
  );

export function artifactAddress({ project, run }: RunPlace, path: string): string {
  const written = path.split("/").map(encodeURIComponent).join("/");
  return apiAddress(
    `/projects/${encodeURIComponent(project)}/runs/${encodeURIComponent(run)}/artifacts/${written}`,
  );
}

export function useDeleteRun() {
  return useMutation({
    mutationFn: (path: RunPlace) =>
      take(api.DELETE("/api/v1/projects/{project}/runs/{run}", { params: { path } })),
    onSettled: refreshJobs,
  });
}

export function useUndeleteRun() {
  return useMutation({
    mutationFn: (path: RunPlace) =>
      take(api.POST("/api/v1/projects/{project}/runs/{run}/undelete", { params: { path } })),
    onSettled: refreshJobs,
  });
}
