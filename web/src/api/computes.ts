import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { ComputeTest } from "./shapes";

const TEST_POLL_MILLISECONDS = 700;

export const computesQuery = queryOptions({
  queryKey: ["computes"],
  queryFn: () => take(api.GET("/api/v1/computes", { params: { query: { limit: 1000 } } })),
  // Whether an agent is away changes without an event.
  refetchInterval: 10_000,
});

export const computeQuery = (compute: string) =>
  queryOptions({
    queryKey: ["computes", compute],
    queryFn: () => take(api.GET("/api/v1/computes/{compute}", { params: { path: { compute } } })),
    refetchInterval: 10_000,
  });

/** Asked again until the agent has told what it found. */
export const computeTestQuery = (compute: string, test: string) =>
  queryOptions({
    queryKey: ["compute-test", compute, test],
    queryFn: () =>
      take(api.GET("/api/v1/computes/{compute}/tests/{test}", { params: { path: { compute, test } } })),
    refetchInterval: (query) => (isOver(query.state.data) ? false : TEST_POLL_MILLISECONDS),
  });

export function isOver(test: ComputeTest | undefined): boolean {
  return test !== undefined && test.ended_at !== null;
}

function refresh(): Promise<unknown> {
  return Promise.all(
    ["computes", "topology", "home"].map((noun) => queries.invalidateQueries({ queryKey: [noun] })),
  );
}

export type Care = "cordon" | "uncordon" | "drain" | "stop" | "revoke";

/** What an administrator does to a compute; `stop` drains it and stops what runs there. */
export function useCareForCompute(compute: string) {
  const params = { path: { compute } };
  const ask = (care: Care) => {
    if (care === "drain" || care === "stop") {
      return take(api.POST("/api/v1/computes/{compute}/drain", { params, body: { stop: care === "stop" } }));
    }
    if (care === "cordon") return take(api.POST("/api/v1/computes/{compute}/cordon", { params }));
    if (care === "uncordon") return take(api.POST("/api/v1/computes/{compute}/uncordon", { params }));
    return take(api.POST("/api/v1/computes/{compute}/revoke", { params }));
  };
  return useMutation({ mutationFn: ask, onSettled: refresh });
}

export interface TrustChange {
  how: "trust" | "distrust";
  projects?: string[];
  all?: boolean;
}

/** Let projects, or all, onto a compute whose jobs share one account; or keep them out. */
export function useChangeTrust(compute: string) {
  const params = { path: { compute } };
  return useMutation({
    mutationFn: ({ how, projects = [], all = false }: TrustChange) => {
      const body = { projects, all };
      return how === "trust"
        ? take(api.POST("/api/v1/computes/{compute}/trust", { params, body }))
        : take(api.POST("/api/v1/computes/{compute}/distrust", { params, body }));
    },
    onSettled: refresh,
  });
}

export function useDetachCompute(compute: string) {
  return useMutation({
    mutationFn: (force: boolean) => {
      const params = { path: { compute }, query: { force } };
      return take(api.DELETE("/api/v1/computes/{compute}", { params }));
    },
    onSettled: refresh,
  });
}

export function useTestCompute(compute: string) {
  return useMutation({
    mutationFn: () => take(api.POST("/api/v1/computes/{compute}/tests", { params: { path: { compute } } })),
  });
}

export const joinTokensQuery = paged(["join-tokens"], (cursor) =>
  take(api.GET("/api/v1/join-tokens", { params: { query: { cursor } } })),
);

const refreshTokens = () => queries.invalidateQueries({ queryKey: ["join-tokens"] });

export function useCreateJoinToken() {
  return useMutation({
    mutationFn: (body: { site: string; seconds: number }) => take(api.POST("/api/v1/join-tokens", { body })),
    onSuccess: refreshTokens,
  });
}

export function useRevokeJoinToken() {
  return useMutation({
    mutationFn: (token: string) =>
      take(api.DELETE("/api/v1/join-tokens/{token}", { params: { path: { token } } })),
    onSuccess: refreshTokens,
  });
}
