import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { DatasetPlace } from "./datasets";
import { paged } from "./paging";
import type { Import, SourceCreate } from "./shapes";

const refresh = () => queries.invalidateQueries({ queryKey: ["sources"] });

export const sourcesQuery = (project: string) =>
  paged(["sources", project], (cursor) =>
    take(api.GET("/api/v1/projects/{project}/sources", { params: { path: { project }, query: { cursor } } })),
  );

export function useAddSource(project: string) {
  return useMutation({
    mutationFn: (body: SourceCreate) =>
      take(api.POST("/api/v1/projects/{project}/sources", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

export function useRunSource(project: string) {
  return useMutation({
    mutationFn: (source: string) =>
      take(
        api.POST("/api/v1/projects/{project}/sources/{source}/run", {
          params: { path: { project, source } },
        }),
      ),
    onSuccess: refresh,
  });
}

export function usePauseSource(project: string) {
  return useMutation({
    mutationFn: ({ source, paused }: { source: string; paused: boolean }) =>
      take(
        api.PATCH("/api/v1/projects/{project}/sources/{source}", {
          params: { path: { project, source } },
          body: { paused },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useDeleteSource(project: string) {
  return useMutation({
    mutationFn: (source: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/sources/{source}", { params: { path: { project, source } } }),
      ),
    onSuccess: refresh,
  });
}

/** Registers objects that lie elsewhere as a commit. */
export function useImport(place: DatasetPlace) {
  return useMutation({
    mutationFn: (body: Import) =>
      take(
        api.POST("/api/v1/projects/{project}/datasets/{dataset}/imports", { params: { path: place }, body }),
      ),
    onSuccess: () =>
      queries.invalidateQueries({
        predicate: ({ queryKey: [noun] }) => ["datasets", "commits", "entries"].includes(String(noun)),
      }),
  });
}
