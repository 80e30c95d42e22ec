/** How projects share the GPUs. */
import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

/** A project in a pool. Amounts are numbers of GPUs. */
export interface Share {
  project: string;
  pool: string;
  quota: number;
  weight: number;
  limit: number | null;
  share: number;
  allocated: number;
  over_quota: number;
  idle: number;
  pending_gpus: number;
  pending_jobs: number;
}

export const sharesQuery = queryOptions({
  queryKey: ["shares"],
  queryFn: async () => {
    const { items } = await take(api.GET("/api/v1/projects", { params: { query: { limit: 1000 } } }));
    return items.map(
      (one): Share => ({
        project: one.name,
        pool: "",
        quota: one.quota,
        weight: one.weight,
        limit: one.limit ?? null,
        share: one.share,
        allocated: one.allocated,
        over_quota: Math.max(0, one.allocated - one.quota),
        idle: 0,
        pending_gpus: one.pending_gpus,
        pending_jobs: one.pending_jobs,
      }),
    );
  },
  refetchInterval: 10_000,
});
