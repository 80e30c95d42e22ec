import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";

const refresh = () => queries.invalidateQueries({ queryKey: ["secrets"] });

/** Their names; nobody reads their values. */
export const secretsQuery = (project: string) =>
  queryOptions({
    queryKey: ["secrets", project],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/secrets", {
          params: { path: { project }, query: { limit: 1000 } },
        }),
      ),
  });

export function usePutSecret(project: string) {
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      take(
        api.PUT("/api/v1/projects/{project}/secrets/{secret}", {
          params: { path: { project, secret: name } },
          body: { value },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useRemoveSecret(project: string) {
  return useMutation({
    mutationFn: (name: string) =>
      take(
        api.DELETE("/api/v1/projects/{project}/secrets/{secret}", {
          params: { path: { project, secret: name } },
        }),
      ),
    onSuccess: refresh,
  });
}
