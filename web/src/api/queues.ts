import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { QueueCreate, QueuePut } from "./shapes";

/** All of them: sites have tens. */
export const queuesQuery = queryOptions({
  queryKey: ["queues"],
  queryFn: () => take(api.GET("/api/v1/queues", { params: { query: { limit: 1000 } } })),
});

const refresh = () => queries.invalidateQueries({ queryKey: ["queues"] });

export function useCreateQueue() {
  return useMutation({
    mutationFn: (body: QueueCreate) => take(api.POST("/api/v1/queues", { body })),
    onSuccess: refresh,
  });
}

export function useChangeQueue(queue: string) {
  return useMutation({
    mutationFn: (body: QueuePut) =>
      take(api.PUT("/api/v1/queues/{queue}", { params: { path: { queue } }, body })),
    onSuccess: refresh,
  });
}

export function useRemoveQueue() {
  return useMutation({
    mutationFn: (queue: string) =>
      take(api.DELETE("/api/v1/queues/{queue}", { params: { path: { queue } } })),
    onSuccess: refresh,
  });
}
