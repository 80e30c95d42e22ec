import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { Schemas, Workspace } from "./shapes";

export interface WorkspacePlace {
  project: string;
  workspace: string;
}

const BUSY_MS = 1_500;
const CALM_MS = 15_000;

export const refreshWorkspaces = () => queries.invalidateQueries({ queryKey: ["workspaces"] });

const isBusy = (one: Workspace) => one.state !== "ready" && one.state !== "failed";

export const workspacesQuery = ({ project, deleted }: { project?: string; deleted?: boolean }) =>
  paged(["workspaces", "list", project, deleted], (cursor) =>
    take(
      project
        ? api.GET("/api/v1/projects/{project}/workspaces", {
            params: { path: { project }, query: { deleted, cursor } },
          })
        : api.GET("/api/v1/workspaces", { params: { query: { deleted, cursor } } }),
    ),
  );

export const workspaceQuery = (place: WorkspacePlace) =>
  queryOptions({
    queryKey: ["workspaces", "one", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/workspaces/{workspace}", { params: { path: place } })),
    refetchInterval: ({ state }) => (state.data && isBusy(state.data) ? BUSY_MS : CALM_MS),
  });

export const snapshotsQuery = (place: WorkspacePlace) =>
  queryOptions({
    queryKey: ["workspaces", "snapshots", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/workspaces/{workspace}/snapshots", { params: { path: place } }),
      ),
    refetchInterval: ({ state }) =>
      state.data?.items.some((one) => one.state === "taking" || one.state === "near") ? BUSY_MS : CALM_MS,
  });

export const schedulesQuery = (place: WorkspacePlace) =>
  queryOptions({
    queryKey: ["workspaces", "schedules", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/workspaces/{workspace}/schedules", { params: { path: place } }),
      ),
  });

export const workspaceWhyQuery = (place: WorkspacePlace) =>
  queryOptions({
    queryKey: ["workspaces", "why", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/workspaces/{workspace}/why", { params: { path: place } })),
  });

/** One directory of a kept snapshot. */
export const snapshotEntriesQuery = (place: WorkspacePlace, snapshot: string, path: string) =>
  paged(["workspaces", "entries", place, snapshot, path], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/workspaces/{workspace}/snapshots/{snapshot}/entries", {
        params: { path: { ...place, snapshot }, query: { path, cursor } },
      }),
    ),
  );

export const snapshotDiffQuery = (place: WorkspacePlace, before: string, after: string) =>
  paged(["workspaces", "diff", place, before, after], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/workspaces/{workspace}/diff", {
        params: { path: place, query: { before, after, cursor } },
      }),
    ),
  );

export type WorkspaceDraft = Schemas["WorkspaceCreate"];

export function usePlanWorkspace(project: string) {
  return useMutation({
    mutationFn: (body: WorkspaceDraft) =>
      take(api.POST("/api/v1/projects/{project}/workspaces/plan", { params: { path: { project } }, body })),
  });
}

export function useCreateWorkspace(project: string) {
  return useMutation({
    mutationFn: (body: WorkspaceDraft) =>
      take(api.POST("/api/v1/projects/{project}/workspaces", { params: { path: { project } }, body })),
    onSuccess: refreshWorkspaces,
  });
}

export function useChangeWorkspace(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (body: Schemas["WorkspaceChange"]) =>
      take(api.PATCH("/api/v1/projects/{project}/workspaces/{workspace}", { params: { path: place }, body })),
    onSuccess: refreshWorkspaces,
  });
}

export function useDeleteWorkspace(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (purge: boolean) =>
      take(
        api.DELETE("/api/v1/projects/{project}/workspaces/{workspace}", {
          params: { path: place, query: { purge } },
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function useUndeleteWorkspace(place: WorkspacePlace) {
  return useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/workspaces/{workspace}/undelete", { params: { path: place } }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function useTakeSnapshot(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (body: Schemas["SnapshotCreate"]) =>
      take(
        api.POST("/api/v1/projects/{project}/workspaces/{workspace}/snapshots", {
          params: { path: place },
          body,
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function useDeleteSnapshot(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (snapshot: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/workspaces/{workspace}/snapshots/{snapshot}", {
          params: { path: { ...place, snapshot } },
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function useRestoreSnapshot(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (body: Schemas["WorkspaceRestoreRequest"]) =>
      take(
        api.POST("/api/v1/projects/{project}/workspaces/{workspace}/restore", {
          params: { path: place },
          body,
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function usePutSchedule(place: WorkspacePlace) {
  return useMutation({
    mutationFn: ({ series, ...body }: Schemas["ScheduleCreate"] & { series: string }) =>
      take(
        api.PUT("/api/v1/projects/{project}/workspaces/{workspace}/schedules/{series}", {
          params: { path: { ...place, series } },
          body,
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}

export function useDeleteSchedule(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (series: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/workspaces/{workspace}/schedules/{series}", {
          params: { path: { ...place, series } },
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}
