/** What changes the history of a dataset: branches, tags, merges, reverts, single paths. */
import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { DatasetPlace } from "./datasets";
import { refreshTopic } from "./live";

/** Everything that is read through a branch is stale now. */
const refresh = () => refreshTopic("datasets");

export function useCreateRef(path: DatasetPlace) {
  return useMutation({
    mutationFn: (body: { name: string; type: "branch" | "tag"; at: string }) =>
      take(api.POST("/api/v1/projects/{project}/datasets/{dataset}/refs", { params: { path }, body })),
    // Awaited: whoever switches to the new ref at once finds it in the list.
    onSuccess: async () => {
      refresh();
      await queries.invalidateQueries({ queryKey: ["datasets", "refs", path] });
    },
  });
}

export function useDeleteRef(place: DatasetPlace) {
  return useMutation({
    mutationFn: ({ name, expected }: { name: string; expected: string }) =>
      take(
        api.DELETE("/api/v1/projects/{project}/datasets/{dataset}/refs/{ref}", {
          params: { path: { ...place, ref: name }, query: { expected } },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useMerge(path: DatasetPlace) {
  return useMutation({
    mutationFn: (body: { source: string; into: string; expected?: string; message: string }) =>
      take(api.POST("/api/v1/projects/{project}/datasets/{dataset}/merge", { params: { path }, body })),
    onSuccess: refresh,
  });
}

export function useRevert(path: DatasetPlace) {
  return useMutation({
    mutationFn: (body: { commit: string; branch: string; message: string }) =>
      take(api.POST("/api/v1/projects/{project}/datasets/{dataset}/revert", { params: { path }, body })),
    onSuccess: refresh,
  });
}

export function useRemovePaths(path: DatasetPlace) {
  return useMutation({
    mutationFn: (body: { branch: string; removes: string[]; recursive: boolean; message: string }) =>
      take(
        api.POST("/api/v1/projects/{project}/datasets/{dataset}/edits", {
          params: { path },
          body: { ...body, puts: [] },
        }),
      ),
    onSuccess: refresh,
  });
}
