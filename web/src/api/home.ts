import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

export const homeQuery = queryOptions({
  queryKey: ["home"],
  queryFn: () => take(api.GET("/api/v1/home")),
  // Computes come and go without an event.
  refetchInterval: 20_000,
});
