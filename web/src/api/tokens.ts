import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { TokenScope } from "./shapes";

const refresh = () => queries.invalidateQueries({ queryKey: ["tokens"] });

export const tokensQuery = paged(["tokens"], (cursor) =>
  take(api.GET("/api/v1/tokens", { params: { query: { cursor } } })),
);

export function useCreateToken() {
  return useMutation({
    mutationFn: (body: { name: string; expires_seconds: number | null; scopes: TokenScope[] | null }) =>
      take(api.POST("/api/v1/tokens", { body })),
    onSuccess: refresh,
  });
}

export function useDeleteToken() {
  return useMutation({
    mutationFn: (token: string) =>
      take(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token } } })),
    onSuccess: refresh,
  });
}
