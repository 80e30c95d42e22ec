import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { FlowRunCreate } from "./shapes";

export interface FlowPlace {
  project: string;
  flow: string;
}

export interface FlowRunPlace {
  project: string;
  flow_run: string;
}

export const refreshFlows = () => queries.invalidateQueries({ queryKey: ["flows"] });
/** The body is YAML and not JSON. */
const asYaml = (text: string) => ({
  body: text as never,
  bodySerializer: (body: unknown) => body as string,
  headers: { "Content-Type": "application/yaml" },
});

/** All of a project: they are tens. */
export const flowsQuery = (project: string) =>
  queryOptions({
    queryKey: ["flows", "list", project],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/flows", {
          params: { path: { project }, query: { limit: 1000 } },
        }),
      ),
  });

export const flowQuery = (place: FlowPlace, version?: number) =>
  queryOptions({
    queryKey: ["flows", "one", place, version],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/flows/{flow}", { params: { path: place, query: { version } } }),
      ),
  });

export const flowVersionsQuery = (place: FlowPlace) =>
  queryOptions({
    queryKey: ["flows", "versions", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/flows/{flow}/versions", { params: { path: place } })),
  });

export const flowRunsQuery = (place: FlowPlace) =>
  queryOptions({
    queryKey: ["flows", "runs", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/flows/{flow}/runs", {
          params: { path: place, query: { limit: 100 } },
        }),
      ),
    refetchInterval: ({ state }) => (state.data?.items.some((run) => !run.ended_at) ? 3_000 : false),
  });

export const flowRunQuery = (place: FlowRunPlace) =>
  queryOptions({
    queryKey: ["flow-runs", "one", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/flow-runs/{flow_run}", { params: { path: place } })),
    // Events come at once; this is for what they do not tell, like the progress of a fill.
    refetchInterval: ({ state }) => (state.data && !state.data.ended_at ? 5_000 : false),
  });

export const libraryQuery = (project: string) =>
  queryOptions({
    queryKey: ["library", project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/library", { params: { path: { project } } })),
  });

/** `component` is NAME or NAME@VERSION; its page of docs comes with it. */
export const componentQuery = (project: string, component: string) =>
  queryOptions({
    queryKey: ["library", project, component],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/library/{component}", {
          params: { path: { project, component } },
        }),
      ),
  });

/** `flow`: a saved one, whose files lie beside the text. */
export const flowProblemsQuery = (project: string, text: string, flow?: string) =>
  queryOptions({
    queryKey: ["flow-problems", project, flow, text],
    queryFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/flows:validate", {
          params: { path: { project }, query: { flow } },
          ...asYaml(text),
        }),
      ),
    gcTime: 10_000,
    placeholderData: (before) => before,
  });

/** `version` is the one that was changed; 0 for a new flow. Files saved beside it stay. */
export function useSaveFlow({ project, flow }: FlowPlace) {
  return useMutation({
    mutationFn: ({ text, version }: { text: string; version: number }) => {
      const yaml = asYaml(text);
      return take(
        api.PUT("/api/v1/projects/{project}/flows/{flow}", {
          params: { path: { project, flow } },
          ...yaml,
          headers: { ...yaml.headers, "If-Match": `"${version}"` },
        }),
      );
    },
    onSuccess: refreshFlows,
  });
}

export function useDeleteFlow(place: FlowPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.DELETE("/api/v1/projects/{project}/flows/{flow}", { params: { path: place } })),
    onSuccess: refreshFlows,
  });
}

export function useStartFlow(place: FlowPlace) {
  return useMutation({
    mutationFn: (body: FlowRunCreate) =>
      take(api.POST("/api/v1/projects/{project}/flows/{flow}/runs", { params: { path: place }, body })),
    onSuccess: refreshFlows,
  });
}

/** Saves a flow under a name, whatever it held before, and starts it. */
export function useRunText(project: string) {
  return useMutation({
    mutationFn: async ({ name, text }: { name: string; text: string }) => {
      const path = { project, flow: name };
      const saved = await take(
        api.PUT("/api/v1/projects/{project}/flows/{flow}", { params: { path }, ...asYaml(text) }),
      );
      return take(
        api.POST("/api/v1/projects/{project}/flows/{flow}/runs", {
          params: { path },
          body: { version: saved.version, params: {}, remember: true },
        }),
      );
    },
    onSuccess: refreshFlows,
  });
}

const refreshRun = () => queries.invalidateQueries({ queryKey: ["flow-runs"] });

export function useCancelFlowRun(place: FlowRunPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/projects/{project}/flow-runs/{flow_run}:cancel", { params: { path: place } })),
    onSuccess: refreshRun,
  });
}

export function useRetryFlowRun(place: FlowRunPlace) {
  return useMutation({
    mutationFn: (from?: string) =>
      take(
        api.POST("/api/v1/projects/{project}/flow-runs/{flow_run}:retry", {
          params: { path: place },
          body: from ? { from } : {},
        }),
      ),
    onSuccess: refreshRun,
  });
}

export function useAnswerGate(place: FlowRunPlace, step: string) {
  return useMutation({
    mutationFn: ({ answer, comment }: { answer: "approve" | "reject"; comment: string }) =>
      take(
        api.POST(
          answer === "approve"
            ? "/api/v1/projects/{project}/flow-runs/{flow_run}/steps/{step}:approve"
            : "/api/v1/projects/{project}/flow-runs/{flow_run}/steps/{step}:reject",
          { params: { path: { ...place, step } }, body: { comment } },
        ),
      ),
    onSuccess: refreshRun,
  });
}
