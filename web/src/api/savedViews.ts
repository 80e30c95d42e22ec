/** Saved views of a project's runs. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { SavedViewPut } from "./shapes";

export const savedViewsQuery = (project: string) =>
  queryOptions({
    queryKey: ["run-views", project],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/run-views", { params: { path: { project } } })).then(
        ({ items }) => items,
      ),
  });

const refresh = () => queries.invalidateQueries({ queryKey: ["run-views"] });

export function useSaveView(project: string) {
  return useMutation({
    mutationFn: (body: SavedViewPut) =>
      take(api.PUT("/api/v1/projects/{project}/run-views", { params: { path: { project } }, body })),
    onSettled: refresh,
  });
}

export function useDeleteView(project: string) {
  return useMutation({
    mutationFn: (view: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/run-views/{view}", { params: { path: { project, view } } }),
      ),
    onSettled: refresh,
  });
}
