import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

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
