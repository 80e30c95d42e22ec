import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";

export const volumesQuery = queryOptions({
  queryKey: ["volumes"],
  queryFn: () => take(api.GET("/api/v1/volumes", { params: { query: { limit: 1000 } } })),
  // Whether a volume is connected changes without an event.
  refetchInterval: 15_000,
});

export function useChangeVolume() {
  return useMutation({
    mutationFn: ({ volume, ...body }: { volume: string; idle_seconds?: number; capacity_bytes?: number }) =>
      take(api.PATCH("/api/v1/volumes/{volume}", { params: { path: { volume } }, body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["volumes"] }),
  });
}
