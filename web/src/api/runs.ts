import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { atMost } from "../lib/batching";
import { api, queries, take } from "./client";
import { refreshJobs } from "./jobs";
import { byPage, paged } from "./paging";
import type { Run } from "./shapes";

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
  /** Values that come along, like `params.lr, metrics.acc`; all of them without. */
  columns?: string;
}

/** How many are shown at once. */
export const PAGE_RUNS = 100;
const MOST_RUNS = 1000;

export const runPages = (filter: RunFilter, limit = PAGE_RUNS) =>
  byPage(["runs", "pages", filter, limit], (cursor) =>
    take(api.GET("/api/v1/runs", { params: { query: { ...filter, cursor, limit } } })),
  );

/** Up to so many that match, however many requests that takes. */
export async function someRuns(filter: RunFilter, most: number): Promise<Run[]> {
  const found: Run[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, limit: Math.min(MOST_RUNS, most - found.length), cursor };
    const page = await take(api.GET("/api/v1/runs", { params: { query } }));
    found.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor && found.length < most);
  return found;
}

export const runKeysQuery = ({ project, experiment, deleted }: RunFilter) =>
  queryOptions({
    queryKey: ["runs", "keys", { project, experiment, deleted }],
    queryFn: () =>
      take(api.GET("/api/v1/runs/keys", { params: { query: { project, experiment, deleted } } })),
  });

/** Groups over the whole list. */
export const runGroupPages = ({ sort: _, ...filter }: RunFilter, by: string) =>
  byPage(["runs", "groups", filter, by], (cursor) =>
    take(api.GET("/api/v1/runs/groups", { params: { query: { ...filter, by, cursor, limit: PAGE_RUNS } } })),
  );

/** How many runs match. */
export const runCountQuery = ({ project, experiment, deleted, filter }: RunFilter) =>
  queryOptions({
    queryKey: ["runs", "count", { project, experiment, deleted, filter }],
    queryFn: async () => {
      const query = { project, experiment, deleted, filter };
      const { items } = await take(api.GET("/api/v1/runs/groups", { params: { query } }));
      return items[0]?.runs ?? 0;
    },
    placeholderData: keepPreviousData,
    retry: false,
  });

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

export type BulkRunChange =
  | { what: "delete" | "undelete" }
  | { what: "tag"; tags: Record<string, string | null> };

/** What became of several: those that were changed, and why the others were not. */
export interface RunOutcome {
  done: Run[];
  problems: string[];
}

const AT_ONCE = 4;

/** Tag, delete or bring back several runs; one that cannot be changed keeps no other from it. */
export function useChangeRuns() {
  return useMutation({
    mutationFn: async ({
      runs,
      change,
    }: {
      runs: readonly Run[];
      change: BulkRunChange;
    }): Promise<RunOutcome> => {
      const outcome: RunOutcome = { done: [], problems: [] };
      const inTurn = atMost(AT_ONCE);
      await Promise.all(
        runs.map((run) =>
          inTurn(() => changeOne(run, change)).then(
            () => void outcome.done.push(run),
            (error: Error) => void outcome.problems.push(`${run.name}: ${error.message}`),
          ),
        ),
      );
      return outcome;
    },
    onSettled: refreshJobs,
  });
}

/** A job's run goes and comes with its job. */
function changeOne(run: Run, change: BulkRunChange): Promise<unknown> {
  const path = { project: run.project, run: run.id };
  const ofJob = { params: { path: { project: run.project, job: run.job ?? "" } } };
  if (change.what === "tag") {
    return take(
      api.PATCH("/api/v1/projects/{project}/runs/{run}", { params: { path }, body: { tags: change.tags } }),
    );
  }
  if (change.what === "delete") {
    return run.job
      ? take(api.DELETE("/api/v1/projects/{project}/jobs/{job}", ofJob))
      : take(api.DELETE("/api/v1/projects/{project}/runs/{run}", { params: { path } }));
  }
  return run.job
    ? take(api.POST("/api/v1/projects/{project}/jobs/{job}/undelete", ofJob))
    : take(api.POST("/api/v1/projects/{project}/runs/{run}/undelete", { params: { path } }));
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

/** States of workspaces that belong to the run. */
export const runSnapshotsQuery = (path: RunPlace) =>
  queryOptions({
    queryKey: ["run snapshots", path],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/runs/{run}/snapshots", { params: { path } })),
  });

export function useRestoreRun(path: RunPlace) {
  return useMutation({
    mutationFn: (body: { into: string; workspace: string }) =>
      take(api.POST("/api/v1/projects/{project}/runs/{run}/restore", { params: { path }, body })),
  });
}
