import { queryOptions, useMutation } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, queries, SESSION_KEY, take } from "./client";
import { paged } from "./paging";
import type { Schemas, Session } from "./shapes";

export interface EndpointPlace {
  project: string;
  endpoint: string;
}

/** What `endpoint.yaml` says, as JSON. */
export type EndpointSpec = Record<string, unknown>;

const refresh = () => queries.invalidateQueries({ queryKey: ["endpoints"] });
/** The body is checked by the server, which says what is wrong in people's words. */
const asJson = (spec: EndpointSpec) => ({
  body: spec as never,
  bodySerializer: (body: unknown) => JSON.stringify(body),
  headers: { "Content-Type": "application/json" },
});

export const endpointsQuery = (filter: { project?: string }) =>
  paged(["endpoints", "list", filter], (cursor) =>
    take(api.GET("/api/v1/endpoints", { params: { query: { ...filter, cursor } } })),
  );

export const endpointQuery = (place: EndpointPlace) =>
  queryOptions({
    queryKey: ["endpoints", "one", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/endpoints/{endpoint}", { params: { path: place } })),
    refetchInterval: ({ state }) => (state.data?.state === "ready" ? 10_000 : 3_000),
  });

export const revisionsQuery = (place: EndpointPlace) =>
  queryOptions({
    queryKey: ["endpoints", "revisions", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/endpoints/{endpoint}/revisions", { params: { path: place } })),
  });

/** Requests, errors and latency over the last `since` seconds. */
export const trafficQuery = (place: EndpointPlace, since: number) =>
  queryOptions({
    queryKey: ["endpoints", "traffic", place, since],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/endpoints/{endpoint}/metrics", {
          params: { path: place, query: { since } },
        }),
      ),
    refetchInterval: 10_000,
  });

/** What the schedule of its drift found; soon again while a comparison runs. */
export const driftQuery = (place: EndpointPlace) =>
  queryOptions({
    queryKey: ["endpoints", "drift", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/endpoints/{endpoint}/drift", { params: { path: place } })),
    refetchInterval: ({ state }) => (state.data?.pending?.state === "running" ? 2_000 : 30_000),
  });

/** Compare the requests up to now with the reference. */
export function useMeasureDrift(place: EndpointPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/drift", { params: { path: place } })),
    onSuccess: refresh,
  });
}

/** Replays on versions, newest first; soon again while one runs. */
export const replaysQuery = (place: EndpointPlace) =>
  queryOptions({
    queryKey: ["endpoints", "replays", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/endpoints/{endpoint}/replays", { params: { path: place } })),
    refetchInterval: ({ state }) =>
      state.data?.items.some((one) => one.state === "running") ? 2_000 : 30_000,
  });

export function useStartReplay(place: EndpointPlace) {
  return useMutation({
    mutationFn: (body: Schemas["ReplayStart"]) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/replays", {
          params: { path: place },
          body,
        }),
      ),
    onSuccess: refresh,
  });
}

/** Let sites serve a version. */
export function usePushToEdge(project: string) {
  return useMutation({
    mutationFn: (body: Schemas["EdgePush"]) =>
      take(api.POST("/api/v1/projects/{project}/edge/push", { params: { path: { project } }, body })),
    onSuccess: refresh,
  });
}

/** The version before, at these sites. */
export function useRollBackEdge(place: EndpointPlace) {
  return useMutation({
    mutationFn: (sites: string[]) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/edge/rollback", {
          params: { path: place },
          body: { sites },
        }),
      ),
    onSuccess: refresh,
  });
}

export function useCreateEndpoint(project: string) {
  return useMutation({
    mutationFn: (spec: EndpointSpec) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints", { params: { path: { project } }, ...asJson(spec) }),
      ),
    onSuccess: refresh,
  });
}

/** `revision` is the one that was changed: a newer one is not overwritten. */
export function useUpdateEndpoint(place: EndpointPlace) {
  return useMutation({
    mutationFn: ({ spec, revision }: { spec: EndpointSpec; revision: number }) => {
      const json = asJson(spec);
      return take(
        api.PUT("/api/v1/projects/{project}/endpoints/{endpoint}", {
          params: { path: place },
          ...json,
          headers: { ...json.headers, "If-Match": `"${revision}"` },
        }),
      );
    },
    onSuccess: refresh,
  });
}

export function useDeleteEndpoint(place: EndpointPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.DELETE("/api/v1/projects/{project}/endpoints/{endpoint}", { params: { path: place } })),
    onSuccess: refresh,
  });
}

export function useScaleEndpoint(place: EndpointPlace) {
  return useMutation({
    mutationFn: (body: Schemas["EndpointScaling"]) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/scale", { params: { path: place }, body }),
      ),
    onSuccess: refresh,
  });
}

export function useCanary(place: EndpointPlace) {
  return useMutation({
    mutationFn: (body: Schemas["EndpointCanary"]) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/canary", { params: { path: place }, body }),
      ),
    onSuccess: refresh,
  });
}

export function usePromote(place: EndpointPlace) {
  return useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/promote", { params: { path: place } })),
    onSuccess: refresh,
  });
}

/** To the revision before, unless one is named. */
export function useRollback(place: EndpointPlace) {
  return useMutation({
    mutationFn: (to?: number) =>
      take(
        api.POST("/api/v1/projects/{project}/endpoints/{endpoint}/rollback", {
          params: { path: place },
          body: { to: to ?? null },
        }),
      ),
    onSuccess: refresh,
  });
}

/** An input or output as the endpoint tells it, in Triton's words. */
export interface TensorShape {
  name: string;
  datatype: string;
  shape: number[];
}

export interface ServedModel {
  name: string;
  inputs: TensorShape[];
  outputs: TensorShape[];
}

export interface Tensor extends TensorShape {
  data: unknown[];
}

/** What the serving protocol answers; an error of it has the field `error`. */
async function ask<Answer>(
  { project, endpoint }: EndpointPlace,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const base = `/projects/${encodeURIComponent(project)}/endpoints/${encodeURIComponent(endpoint)}`;
  const csrf = queries.getQueryData<Session>(SESSION_KEY)?.csrf ?? "";
  const response = await fetch(apiAddress(`${base}/v2/models/${encodeURIComponent(endpoint)}${path}`), {
    method: body === undefined ? "GET" : "POST",
    credentials: "same-origin",
    headers: body === undefined ? {} : { "Content-Type": "application/json", "X-Mill-CSRF": csrf },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok)
    throw new Error(answer?.error ?? answer?.detail ?? `The endpoint answered ${response.status}.`);
  return answer as Answer;
}

export const servedModelQuery = (place: EndpointPlace) =>
  queryOptions({
    queryKey: ["endpoints", "served", place],
    queryFn: () => ask<ServedModel>(place, ""),
    retry: false,
  });

export function useInfer(place: EndpointPlace) {
  return useMutation({
    mutationFn: async (inputs: Tensor[]) => {
      const began = performance.now();
      const answer = await ask<{ model_version: string; outputs: Tensor[] }>(place, "/infer", { inputs });
      return { ...answer, milliseconds: performance.now() - began };
    },
  });
}
