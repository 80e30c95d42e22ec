import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { api, queries, SESSION_KEY, take } from "./client";
import { projectsQuery } from "./projects";
import type { Role } from "./shapes";

export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: () => take(api.GET("/api/v1/session")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Who is signed in. Pages are shown only after the router has made sure that somebody is. */
export function useSession() {
  return useQuery(sessionQuery).data;
}

/** Whether the viewer has at least `needed` in `project`. The server decides; this only hides what would fail. */
export function useMay(project: string, needed: Role): boolean {
  const session = useSession();
  if (!session) return false;
  if (session.user.is_admin) return true;
  const order: Role[] = ["viewer", "member", "admin"];
  const role = session.projects.find((entry) => entry.project === project)?.role;
  return role !== undefined && order.indexOf(role) >= order.indexOf(needed);
}

/** The projects in which the viewer may change things, by name. */
export function useMemberProjects(): string[] {
  const session = useSession();
  const all = useQuery({ ...projectsQuery, enabled: !!session?.user.is_admin }).data?.items;
  if (session?.user.is_admin) return (all ?? []).map((project) => project.name);
  const mine = session?.projects.filter((entry) => entry.role !== "viewer") ?? [];
  return mine.map((entry) => entry.project).sort();
}

export function useSignIn() {
  return useMutation({
    mutationFn: (body: { name: string; password: string }) => take(api.POST("/api/v1/session", { body })),
    onSuccess: (session) => {
      queries.clear();
      queries.setQueryData(SESSION_KEY, session);
    },
  });
}

export function useSignOut() {
  return useMutation({
    mutationFn: () => take(api.POST("/api/v1/session/end")),
    onSettled: () => queries.clear(),
  });
}
