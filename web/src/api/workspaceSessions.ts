import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, take } from "./client";
import { ApiError } from "./problem";
import type { Schemas, WorkspaceSession } from "./shapes";
import { refreshWorkspaces, type WorkspacePlace } from "./workspaces";

export interface SessionPlace extends WorkspacePlace {
  job: string;
}

export type SessionKind = WorkspaceSession["kind"];
export type SessionDraft = Schemas["SessionCreate"];

const POLL_MS = 1_000;
const CALM_MS = 15_000;
const ENDED: readonly WorkspaceSession["state"][] = ["succeeded", "failed", "cancelled"];

export const hasEnded = (session: WorkspaceSession) => ENDED.includes(session.state);

export const sessionsQuery = (place: WorkspacePlace) =>
  queryOptions({
    queryKey: ["workspaces", "sessions", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/workspaces/{workspace}/sessions", { params: { path: place } }),
      ),
    refetchInterval: ({ state }) =>
      state.data?.items.some((one) => one.state !== "running") ? POLL_MS : CALM_MS,
  });

export const sessionQuery = (place: SessionPlace) =>
  queryOptions({
    queryKey: ["workspaces", "session", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/workspaces/{workspace}/sessions/{job}", {
          params: { path: place },
        }),
      ),
    refetchInterval: ({ state }) => (state.data && hasEnded(state.data) ? false : POLL_MS),
  });

/** An address that opens it once, asked for until the program behind it listens. */
export const sessionUrlQuery = (place: SessionPlace) =>
  queryOptions({
    queryKey: ["workspaces", "session-url", place],
    queryFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/workspaces/{workspace}/sessions/{job}/open", {
          params: { path: place },
        }),
      ),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: (_, error) => error instanceof ApiError && (error.code === "not_ready" || error.status === 0),
    retryDelay: POLL_MS,
  });

export function useOpenSession(place: WorkspacePlace) {
  return useMutation({
    mutationFn: (body: SessionDraft) =>
      take(
        api.POST("/api/v1/projects/{project}/workspaces/{workspace}/sessions", {
          params: { path: place },
          body,
        }),
      ),
    onSuccess: refreshWorkspaces,
  });
}
