import { useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";

const refresh = () => queries.invalidateQueries({ queryKey: ["users"] });

export const usersQuery = paged(["users"], (cursor) =>
  take(api.GET("/api/v1/users", { params: { query: { cursor } } })),
);

export interface NewUser {
  name: string;
  full_name: string;
  /** None: they sign in with a provider, or are a service account. */
  password: string | null;
  is_admin: boolean;
  is_service: boolean;
}

export function useCreateUser() {
  return useMutation({
    mutationFn: (body: NewUser) => take(api.POST("/api/v1/users", { body })),
    onSuccess: refresh,
  });
}

export interface UserChange {
  user: string;
  is_admin?: boolean;
  disabled?: boolean;
  password?: string;
  old_password?: string;
  revoke_tokens?: boolean;
}

export function useChangeUser() {
  return useMutation({
    mutationFn: ({ user, revoke_tokens = true, ...body }: UserChange) =>
      take(
        api.PATCH("/api/v1/users/{user}", { params: { path: { user } }, body: { ...body, revoke_tokens } }),
      ),
    onSuccess: refresh,
  });
}

export function useDeleteUser() {
  return useMutation({
    mutationFn: (user: string) => take(api.DELETE("/api/v1/users/{user}", { params: { path: { user } } })),
    onSuccess: refresh,
  });
}
