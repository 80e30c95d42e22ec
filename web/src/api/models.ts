import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { byPage, paged } from "./paging";
import type { ModelStage, Schemas } from "./shapes";

export interface ModelPlace {
  project: string;
  model: string;
}

/** `version` is a number, an alias or `latest`. */
export interface VersionPlace extends ModelPlace {
  version: string;
}

export interface ModelFilter {
  project?: string;
  search?: string;
  /** Those in the bin. */
  deleted?: true;
}

const refresh = () => queries.invalidateQueries({ queryKey: ["models"] });

export const modelsQuery = (filter: ModelFilter) =>
  paged(["models", "list", filter], (cursor) =>
    take(api.GET("/api/v1/models", { params: { query: { ...filter, cursor } } })),
  );

export const modelQuery = (place: ModelPlace) =>
  queryOptions({
    queryKey: ["models", "one", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/models/{model}", { params: { path: place } })),
  });

const someVersions = (place: ModelPlace, deleted: boolean, limit: number, cursor: string | undefined) =>
  take(
    api.GET("/api/v1/projects/{project}/models/{model}/versions", {
      params: { path: place, query: { deleted, limit, cursor } },
    }),
  );

export const versionPages = (place: ModelPlace) =>
  byPage(["models", "versions", place], (cursor) => someVersions(place, false, 50, cursor));

/** The newest, to choose from. */
export const newestVersionsQuery = (place: ModelPlace) =>
  queryOptions({
    queryKey: ["models", "newest", place],
    queryFn: () => someVersions(place, false, 500, undefined),
  });

export const deletedVersionsQuery = (place: ModelPlace) =>
  paged(["models", "deleted", place], (cursor) => someVersions(place, true, 50, cursor));

export const versionQuery = (place: VersionPlace) =>
  queryOptions({
    queryKey: ["models", "version", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/models/{model}/versions/{version}", { params: { path: place } }),
      ),
  });

export const versionsOfRunQuery = (project: string, run: string) =>
  queryOptions({
    queryKey: ["models", "of-run", project, run],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/runs/{run}/models", { params: { path: { project, run } } })),
  });

export const modelComparisonQuery = (place: ModelPlace, before: string, after: string) =>
  queryOptions({
    queryKey: ["models", "comparison", place, before, after],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/models/{model}/compare", {
          params: { path: place, query: { before, after } },
        }),
      ),
  });

type ModelChange = Partial<Schemas["ModelChange"]>;

export function useChangeModel(place: ModelPlace) {
  return useMutation({
    mutationFn: (body: ModelChange) =>
      take(
        api.PATCH("/api/v1/projects/{project}/models/{model}", {
          params: { path: place },
          body: { tags: {}, ...body },
        }),
      ),
    onSettled: refresh,
  });
}

interface VersionChange {
  description?: string;
  stage?: ModelStage;
  archive_others?: boolean;
  tags?: Record<string, string | null>;
}

export function useChangeVersion(place: VersionPlace) {
  return useMutation({
    mutationFn: (body: VersionChange) =>
      take(
        api.PATCH("/api/v1/projects/{project}/models/{model}/versions/{version}", {
          params: { path: place },
          body: { tags: {}, archive_others: false, ...body },
        }),
      ),
    onSettled: refresh,
  });
}

/** Load and run a version in a job; the version tells what was found out. */
export function useCheckVersion(place: VersionPlace) {
  return useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/models/{model}/versions/{version}/check", {
          params: { path: place },
          body: { environment: true },
        }),
      ),
    onSettled: refresh,
  });
}

/** Let an alias point to a version, wherever it pointed before. */
export function useSetAlias(place: ModelPlace) {
  return useMutation({
    mutationFn: ({ alias, version }: { alias: string; version: string }) =>
      take(
        api.PUT("/api/v1/projects/{project}/models/{model}/aliases/{alias}", {
          params: { path: { ...place, alias } },
          body: { version },
        }),
      ),
    onSettled: refresh,
  });
}

export function useRemoveAlias(place: ModelPlace) {
  return useMutation({
    mutationFn: (alias: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/models/{model}/aliases/{alias}", {
          params: { path: { ...place, alias } },
        }),
      ),
    onSettled: refresh,
  });
}

interface Registered {
  model: string;
  /** A run, and a folder or file among its artifacts. */
  run: string;
  path: string;
  description: string;
  aliases: string[];
}

export function useRegister(project: string) {
  return useMutation({
    mutationFn: ({ model, run, path, description, aliases }: Registered) =>
      take(
        api.POST("/api/v1/projects/{project}/models/{model}/versions", {
          params: { path: { project, model } },
          body: { source: { run, path }, description, aliases, tags: {} },
        }),
      ),
    onSettled: refresh,
  });
}

export function useDeleteModel() {
  return useMutation({
    mutationFn: (place: ModelPlace) =>
      take(api.DELETE("/api/v1/projects/{project}/models/{model}", { params: { path: place } })),
    onSuccess: (_, place) => {
      queries.removeQueries({ queryKey: ["models", "one", place] });
      return refresh();
    },
  });
}

export function useUndeleteModel() {
  return useMutation({
    mutationFn: (place: ModelPlace) =>
      take(api.POST("/api/v1/projects/{project}/models/{model}/undelete", { params: { path: place } })),
    onSettled: refresh,
  });
}

export function useDeleteVersion() {
  return useMutation({
    mutationFn: (place: VersionPlace) =>
      take(
        api.DELETE("/api/v1/projects/{project}/models/{model}/versions/{version}", {
          params: { path: place },
        }),
      ),
    onSettled: refresh,
  });
}

export function useUndeleteVersion() {
  return useMutation({
    mutationFn: (place: VersionPlace) =>
      take(
        api.POST("/api/v1/projects/{project}/models/{model}/versions/{version}/undelete", {
          params: { path: place },
        }),
      ),
    onSettled: refresh,
  });
}

/** Predicts a dataset with a version; the answer is the run of a flow. */
export function usePredictBatch({ project, model, version }: VersionPlace) {
  return useMutation({
    mutationFn: (
      body: Pick<Schemas["BatchPrediction"], "input" | "output"> & Partial<Schemas["BatchPrediction"]>,
    ) =>
      take(
        api.POST("/api/v1/projects/{project}/models/{model}/versions/{version}/batch", {
          params: { path: { project, model, version } },
          body: body as Schemas["BatchPrediction"],
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["flows"] }),
  });
}
