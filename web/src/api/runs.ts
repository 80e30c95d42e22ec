import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { refreshJobs } from "./jobs";
import { byPage, paged } from "./paging";

export interface RunPlace {
  project: string;
  run: string;
}

export interface RunFilter {
  project?: string;
  experiment?: string;
  deleted?: boolean;
  /** In the filter language, like `metrics.acc > 0.9`. */
  filter?: string;
  sort?: string;
}

export const runPages = (filter: RunFilter) =>
  byPage(["runs", "pages", filter], (cursor) =>
    take(api.GET("/api/v1/runs", { params: { query: { ...filter, cursor, limit: 100 } } })),
  );

export const runQuery = (place: RunPlace) =>
  queryOptions({
    queryKey: ["runs", "one", place.run, place.project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/runs/{run}", { params: { path: place } })),
  });

/** Runs that were begun inside another. */
export const nestedRunsQuery = ({ project, run }: RunPlace) =>
  paged(["runs", "nested", run, project], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/runs", {
        params: { path: { project }, query: { parent: run, cursor, limit: 50 } },
      }),
    ),
  );

/** What is left out stays as it is; a tag of null is removed. */
export interface RunChange {
  name?: string;
  notes?: string;
  tags?: Record<string, string | null>;
}

export function useChangeRun({ project, run }: RunPlace) {
  return useMutation({
    mutationFn: (body: RunChange) =>
      take(
        api.PATCH("/api/v1/projects/{project}/runs/{run}", {
          params: { path: { project, run } },
          body: { tags: {}, ...body },
        }),
      ),
    onSuccess: (changed) => queries.setQueryData(runQuery({ project, run }).queryKey, changed),
    onSettled: refreshJobs,
  });
}

export const comparisonQuery = (project: string, runs: readonly string[]) =>
  queryOptions({
    queryKey: ["runs", "comparison", runs, project],
    queryFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/runs/compare", {
          params: { path: { project } },
          body: { runs: [...runs] },
        }),
      ),
    // Taking a run out or adding one leaves the others where they are.
    placeholderData: keepPreviousData,
  });

/** The dataset that holds the artifacts of a project's runs; a run's id names its newest commit there. */
export const ARTIFACTS = ".artifacts";

/** The commit that holds all a run has kept; null for none. Looked for anew whenever the run reports something. */
export const artifactsCommitQuery = ({ project, run }: RunPlace) =>
  queryOptions({
    queryKey: ["runs", "artifacts", run, project],
    queryFn: async () => {
      const path = { project, run };
      const { items } = await take(
        api.GET("/api/v1/projects/{project}/runs/{run}/artifacts", { params: { path, query: { limit: 1 } } }),
      );
      if (items.length === 0) return null;
      const place = { project, dataset: ARTIFACTS, ref: run };
      return take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}", { params: { path: place } }),
      );
    },
  });

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
