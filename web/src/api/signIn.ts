import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { ProviderChange, ProviderCreate } from "./shapes";

/** How one may sign in; with what the page was told of a sign-in that failed. */
export const signInWaysQuery = (problem?: string) =>
  queryOptions({
    queryKey: ["sign-in", problem],
    queryFn: () => take(api.GET("/api/v1/sign-in", { params: { query: { problem } } })),
  });

export const providersQuery = queryOptions({
  queryKey: ["auth", "providers"],
  queryFn: () => take(api.GET("/api/v1/auth/providers")),
});

export const rulesQuery = queryOptions({
  queryKey: ["auth", "rules"],
  queryFn: () => take(api.GET("/api/v1/auth/rules")),
});

const refresh = () => {
  void queries.invalidateQueries({ queryKey: ["sign-in"] });
  return queries.invalidateQueries({ queryKey: ["auth"] });
};

export function useCreateProvider() {
  return useMutation({
    mutationFn: (body: ProviderCreate) => take(api.POST("/api/v1/auth/providers", { body })),
    onSuccess: refresh,
  });
}

export function useChangeProvider() {
  return useMutation({
    mutationFn: ({ provider, ...body }: ProviderChange & { provider: string }) =>
      take(api.PATCH("/api/v1/auth/providers/{provider}", { params: { path: { provider } }, body })),
    onSuccess: refresh,
  });
}

export function useDeleteProvider() {
  return useMutation({
    mutationFn: (provider: string) =>
      take(api.DELETE("/api/v1/auth/providers/{provider}", { params: { path: { provider } } })),
    onSuccess: refresh,
  });
}

export function useTestProvider() {
  return useMutation({
    mutationFn: (provider: string) =>
      take(api.POST("/api/v1/auth/providers/{provider}/test", { params: { path: { provider } } })),
  });
}

export function useLocalLogin() {
  return useMutation({
    mutationFn: (on: boolean) => take(api.PUT("/api/v1/auth/local-login", { body: { on } })),
    onSuccess: refresh,
  });
}

export interface NewRule {
  group: string;
  project: string | null;
  role: "viewer" | "member" | "admin" | null;
  provider: string | null;
}

export function useCreateRule() {
  return useMutation({
    mutationFn: (body: NewRule) => take(api.POST("/api/v1/auth/rules", { body })),
    onSuccess: refresh,
  });
}

export function useDeleteRule() {
  return useMutation({
    mutationFn: (rule: string) =>
      take(api.DELETE("/api/v1/auth/rules/{rule}", { params: { path: { rule } } })),
    onSuccess: refresh,
  });
}

export function useTryRules() {
  return useMutation({
    mutationFn: (body: { provider: string; claims: Record<string, unknown> }) =>
      take(api.POST("/api/v1/auth/rules/test", { body })),
  });
}

export const linksQuery = (user: string) =>
  queryOptions({
    queryKey: ["links", user],
    queryFn: () => take(api.GET("/api/v1/users/{user}/sign-ins", { params: { path: { user } } })),
  });

export function useLink() {
  return useMutation({
    mutationFn: (provider: string) =>
      take(api.POST("/api/v1/sign-in/link/{provider}", { params: { path: { provider } } })),
  });
}

export function useUnlink(user: string) {
  return useMutation({
    mutationFn: ({ provider, subject }: { provider: string; subject: string }) =>
      take(
        api.DELETE("/api/v1/users/{user}/sign-ins/{provider}", {
          params: { path: { user, provider }, query: { subject } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["links", user] }),
  });
}

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => take(api.GET("/api/v1/sessions")),
});

export function useEndSession() {
  return useMutation({
    mutationFn: (session: string) =>
      take(api.DELETE("/api/v1/sessions/{session}", { params: { path: { session } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
}

export function useEndOtherSessions() {
  return useMutation({
    mutationFn: () => take(api.DELETE("/api/v1/sessions")),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
}

export function useGrantLogin() {
  return useMutation({
    mutationFn: (body: { machine: string; challenge: string }) =>
      take(api.POST("/api/v1/login-grants", { body })),
  });
}

export const deviceLoginQuery = (code: string) =>
  queryOptions({
    queryKey: ["device-login", code],
    queryFn: () => take(api.GET("/api/v1/device-logins/{code}", { params: { path: { code } } })),
    retry: false,
  });

export function useAnswerDevice() {
  return useMutation({
    mutationFn: ({ code, confirm }: { code: string; confirm: boolean }) =>
      take(
        api.POST("/api/v1/device-logins/{code}/answer", { params: { path: { code } }, body: { confirm } }),
      ),
  });
}
