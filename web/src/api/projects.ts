import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, SESSION_KEY, take } from "./client";
import type { ProjectChange, ProjectCreate, Role } from "./shapes";

async function refreshShares(): Promise<void> {
  await queries.invalidateQueries({ queryKey: ["projects"] });
  await queries.invalidateQueries({ queryKey: ["shares"] });
}

async function refresh(): Promise<void> {
  await refreshShares();
  await queries.invalidateQueries({ queryKey: SESSION_KEY });
}

export const projectsQuery = queryOptions({
  queryKey: ["projects", "list"],
  queryFn: () => take(api.GET("/api/v1/projects", { params: { query: { limit: 1000 } } })),
});

export const projectQuery = (project: string) =>
  queryOptions({
    queryKey: ["projects", "one", project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}", { params: { path: { project } } })),
  });

export const membersQuery = (project: string) =>
  queryOptions({
    queryKey: ["projects", "members", project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/members", { params: { path: { project } } })),
  });

export function useCreateProject() {
  return useMutation({
    mutationFn: (body: ProjectCreate) => take(api.POST("/api/v1/projects", { body })),
    onSuccess: refresh,
  });
}

export function useChangeProject(project: string) {
  return useMutation({
    mutationFn: (body: ProjectChange) =>
      take(api.PATCH("/api/v1/projects/{project}", { params: { path: { project } }, body })),
    onSuccess: refreshShares,
  });
}

export function useDeleteProject() {
  return useMutation({
    mutationFn: (project: string) =>
      take(api.DELETE("/api/v1/projects/{project}", { params: { path: { project } } })),
    // Not waited for: its page is left before it is found missing.
    onSuccess: () => void refresh(),
  });
}

export function usePutMember(project: string) {
  return useMutation({
    mutationFn: ({ user, role }: { user: string; role: Role }) =>
      take(
        api.PUT("/api/v1/projects/{project}/members/{user}", {
          params: { path: { project, user } },
          body: { role },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useRemoveMember(project: string) {
  return useMutation({
    mutationFn: (user: string) =>
      take(api.DELETE("/api/v1/projects/{project}/members/{user}", { params: { path: { project, user } } })),
    onSuccess: refresh,
  });
}
