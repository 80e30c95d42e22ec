import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { ConnectionCreate } from "./shapes";

const refresh = () => queries.invalidateQueries({ queryKey: ["connections"] });

export const connectionsQuery = (project: string) =>
  paged(["connections", project], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/connections", {
        params: { path: { project }, query: { cursor, limit: 1000 } },
      }),
    ),
  );

export function useAddConnection(project: string) {
  return useMutation({
    mutationFn: (body: ConnectionCreate) =>
      take(api.POST("/api/v1/projects/{project}/connections", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

export function useTestConnection(project: string) {
  return useMutation({
    mutationFn: (connection: string) =>
      take(
        api.POST("/api/v1/projects/{project}/connections/{connection}/test", {
          params: { path: { project, connection } },
        }),
      ),
  });
}

export function useDeleteConnection(project: string) {
  return useMutation({
    mutationFn: ({ connection, force }: { connection: string; force: boolean }) =>
      take(
        api.DELETE("/api/v1/projects/{project}/connections/{connection}", {
          params: { path: { project, connection }, query: { force } },
        }),
      ),
    onSuccess: refresh,
  });
}
