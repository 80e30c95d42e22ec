import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { Mirror, MirrorCreate } from "./shapes";

const BUSY_MS = 2_000;

const refresh = () => queries.invalidateQueries({ queryKey: ["mirrors"] });

/** How far a run is comes without an event. */
export const mirrorsQuery = (project: string) => ({
  ...paged(["mirrors", project], (cursor) =>
    take(api.GET("/api/v1/projects/{project}/mirrors", { params: { path: { project }, query: { cursor } } })),
  ),
  refetchInterval: ({ state }: { state: { data?: { pages: { items: Mirror[] }[] } } }) =>
    state.data?.pages.some(({ items }) => items.some((one) => one.state === "running")) ? BUSY_MS : false,
});

export function useAddMirror(project: string) {
  return useMutation({
    mutationFn: (body: MirrorCreate) =>
      take(api.POST("/api/v1/projects/{project}/mirrors", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

/** What the first run would do. */
export function usePlanMirror(project: string) {
  return useMutation({
    mutationFn: (body: MirrorCreate) =>
      take(api.POST("/api/v1/projects/{project}/mirrors/plan", { params: { path: { project } }, body })),
  });
}

export function useRunMirror(project: string) {
  return useMutation({
    mutationFn: (mirror: string) =>
      take(
        api.POST("/api/v1/projects/{project}/mirrors/{mirror}/run", {
          params: { path: { project, mirror } },
        }),
      ),
    onSuccess: refresh,
  });
}

export function usePauseMirror(project: string) {
  return useMutation({
    mutationFn: ({ mirror, paused }: { mirror: string; paused: boolean }) =>
      take(
        api.PATCH("/api/v1/projects/{project}/mirrors/{mirror}", {
          params: { path: { project, mirror } },
          body: { paused },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useDeleteMirror(project: string) {
  return useMutation({
    mutationFn: (mirror: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/mirrors/{mirror}", { params: { path: { project, mirror } } }),
      ),
    onSuccess: refresh,
  });
}
