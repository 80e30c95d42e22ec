import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { byPage } from "./paging";
import type { Schemas, SearchCreate, SearchState, Trial, TrialState } from "./shapes";

export interface SearchPlace {
  project: string;
  search: string;
}

interface SearchFilter {
  project?: string;
  state?: SearchState;
}

export interface TrialOrder {
  sort?: string;
  desc?: true;
  state?: TrialState;
}

/** What events do not tell: the newest values of trials that run. */
const LIVE_MS = 5_000;
const refresh = () => queries.invalidateQueries({ queryKey: ["searches"] });

export const searchPages = ({ project, state }: SearchFilter) =>
  byPage(["searches", "list", project, state], (cursor) =>
    take(
      api.GET("/api/v1/searches", {
        params: { query: { project, state: state && [state], limit: 50, cursor } },
      }),
    ),
  );

export const searchQuery = (place: SearchPlace) =>
  queryOptions({
    queryKey: ["searches", "one", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/searches/{search}", { params: { path: place } })),
    refetchInterval: ({ state }) => (state.data && !state.data.ended_at ? LIVE_MS : false),
  });

const someTrials = (path: SearchPlace, order: TrialOrder, limit: number, cursor: string | undefined) =>
  take(
    api.GET("/api/v1/projects/{project}/searches/{search}/trials", {
      params: {
        path,
        query: { sort: order.sort, desc: order.desc, state: order.state && [order.state], limit, cursor },
      },
    }),
  );

export const trialPages = (place: SearchPlace, order: TrialOrder) =>
  byPage(["searches", "trials", place, order], (cursor) => someTrials(place, order, 100, cursor));

/** All trials in the order of their numbers, as charts draw them. */
export const allTrialsQuery = (place: SearchPlace, isLive: boolean) =>
  queryOptions({
    queryKey: ["searches", "all-trials", place],
    queryFn: async () => {
      const found: Trial[] = [];
      let cursor: string | undefined;
      do {
        const page = await someTrials(place, {}, 1000, cursor);
        found.push(...page.items);
        cursor = page.next ?? undefined;
      } while (cursor);
      return found;
    },
    refetchInterval: isLive ? LIVE_MS : false,
  });

export const importanceQuery = (place: SearchPlace, metric: string | undefined) =>
  queryOptions({
    queryKey: ["searches", "importance", place, metric],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/searches/{search}/importance", {
          params: { path: place, query: { metric } },
        }),
      ),
  });

export function useChangeSearch(place: SearchPlace) {
  const params = { path: place };
  return useMutation({
    mutationFn: (verb: "pause" | "resume" | "cancel") => {
      if (verb === "pause")
        return take(api.POST("/api/v1/projects/{project}/searches/{search}/pause", { params }));
      if (verb === "resume")
        return take(api.POST("/api/v1/projects/{project}/searches/{search}/resume", { params }));
      return take(api.POST("/api/v1/projects/{project}/searches/{search}/cancel", { params }));
    },
    onSettled: refresh,
  });
}

export function useDeleteSearch() {
  return useMutation({
    mutationFn: (place: SearchPlace) =>
      take(api.DELETE("/api/v1/projects/{project}/searches/{search}", { params: { path: place } })),
    onSuccess: refresh,
  });
}

/** The server expands the short forms that the generated type does not know. */
const bodyOf = (body: SearchCreate) => body as Schemas["SearchCreate"];

export function useStartSearch() {
  return useMutation({
    mutationFn: ({ project, ...body }: SearchCreate & { project: string }) =>
      take(
        api.POST("/api/v1/projects/{project}/searches", {
          params: { path: { project } },
          body: bodyOf(body),
        }),
      ),
    onSuccess: refresh,
  });
}

/** What it would run; nothing is started. */
export const searchPreviewQuery = (project: string, body: SearchCreate) =>
  queryOptions({
    queryKey: ["search-preview", project, body],
    queryFn: () =>
      take(
        api.POST("/api/v1/projects/{project}/searches/dry-run", {
          params: { path: { project } },
          body: bodyOf(body),
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
  });
