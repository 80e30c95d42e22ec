import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const gpuUseQuery = queryOptions({
  queryKey: ["gpu-use"],
  queryFn: () => take(api.GET("/api/v1/gpu-use")),
  // Utilisation changes without an event.
  refetchInterval: 10_000,
});
