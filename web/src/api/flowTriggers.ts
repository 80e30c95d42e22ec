import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { FlowPlace } from "./flows";

export interface TriggerPlace extends FlowPlace {
  trigger: string;
}

export const triggersQuery = (place: FlowPlace) =>
  queryOptions({
    queryKey: ["flow-triggers", "of", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/flows/{flow}/triggers", { params: { path: place } })),
  });

export const firingsQuery = (place: FlowPlace) =>
  queryOptions({
    queryKey: ["flow-triggers", "firings", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/flows/{flow}/firings", {
          params: { path: place, query: { limit: 50 } },
        }),
      ),
    // What waits for its time becomes a run without an event of this page.
    refetchInterval: ({ state }) =>
      state.data?.items.some((one) => one.state === "waiting") ? 3_000 : 30_000,
  });

/** When a schedule comes next. An expression that is not one is refused with the reason. */
export const scheduleTimesQuery = (project: string, cron: string, timezone: string) =>
  queryOptions({
    queryKey: ["schedule-times", project, cron, timezone],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/schedule-times", {
          params: { path: { project }, query: { cron, timezone } },
        }),
      ),
    retry: false,
  });

const refreshTriggers = () =>
  Promise.all(["flow-triggers", "flows"].map((noun) => queries.invalidateQueries({ queryKey: [noun] })));

export function useSwitchTrigger(path: TriggerPlace) {
  return useMutation({
    mutationFn: (isEnabled: boolean) =>
      take(
        api.POST(
          isEnabled
            ? "/api/v1/projects/{project}/flows/{flow}/triggers/{trigger}:enable"
            : "/api/v1/projects/{project}/flows/{flow}/triggers/{trigger}:disable",
          { params: { path } },
        ),
      ),
    onSettled: refreshTriggers,
  });
}

export function useFireTrigger(path: TriggerPlace) {
  return useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/flows/{flow}/triggers/{trigger}:fire", {
          params: { path },
          body: { params: {} },
        }),
      ),
    onSettled: refreshTriggers,
  });
}

export function useNewSecret(path: TriggerPlace) {
  return useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/flows/{flow}/triggers/{trigger}:rotate-secret", {
          params: { path },
        }),
      ),
    onSettled: refreshTriggers,
  });
}
