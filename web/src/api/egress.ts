import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { EgressBudgetPut } from "./shapes";

/** What fills brought this month, by day, project and link. */
export const egressQuery = queryOptions({
  queryKey: ["egress"],
  queryFn: () => take(api.GET("/api/v1/egress", { params: { query: { by: ["day", "project", "link"] } } })),
  refetchInterval: 60_000,
});

export const egressBudgetsQuery = queryOptions({
  queryKey: ["egress", "budgets"],
  queryFn: () => take(api.GET("/api/v1/egress-budgets")),
  refetchInterval: 60_000,
});

/** The same as a file. */
export const EGRESS_CSV = "/api/v1/egress.csv";

const refresh = () => queries.invalidateQueries({ queryKey: ["egress"] });

/** Of a project, or of all of them together. */
export function usePutEgressBudget() {
  return useMutation({
    mutationFn: ({ project, ...body }: EgressBudgetPut & { project: string | null }) =>
      take(api.PUT("/api/v1/egress-budgets", { params: { query: { project } }, body })),
    onSuccess: refresh,
  });
}

export function useRemoveEgressBudget() {
  return useMutation({
    mutationFn: (project: string | null) =>
      take(api.DELETE("/api/v1/egress-budgets", { params: { query: { project } } })),
    onSuccess: refresh,
  });
}
