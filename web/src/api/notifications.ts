import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { byPage } from "./paging";
import type { ChannelCreate, NotificationKind, SmtpSet, Whose } from "./shapes";

const LATEST = 20;
const PAGE = 50;

const refresh = () => queries.invalidateQueries({ queryKey: ["notifications"] });

/** The newest few, and how many are unread. */
export const latestNotificationsQuery = queryOptions({
  queryKey: ["notifications", "latest"],
  queryFn: () => take(api.GET("/api/v1/notifications", { params: { query: { limit: LATEST } } })),
});

export const notificationPages = (unread: boolean) =>
  byPage(["notifications", "list", unread], (cursor) =>
    take(api.GET("/api/v1/notifications", { params: { query: { unread, cursor, limit: PAGE } } })),
  );

/** Without ids, all. */
export function useMarkRead() {
  return useMutation({
    mutationFn: (ids?: string[]) => take(api.POST("/api/v1/notifications/read", { body: { ids } })),
    onSuccess: refresh,
  });
}

/** What the viewer is told: everywhere, or in one project. */
export const choicesQuery = (project?: string) =>
  queryOptions({
    queryKey: ["notifications", "choices", project],
    queryFn: () => take(api.GET("/api/v1/notifications/choices", { params: { query: { project } } })),
  });

export function useChoose(project?: string) {
  return useMutation({
    mutationFn: ({ kind, whose }: { kind: NotificationKind; whose: Whose | null }) =>
      take(api.PATCH("/api/v1/notifications/choices", { body: { project, choices: { [kind]: whose } } })),
    onSuccess: refresh,
  });
}

/** Of a project, or without one of the viewer. */
export const channelsQuery = (project?: string) =>
  queryOptions({
    queryKey: ["notifications", "channels", project],
    queryFn: () =>
      take(
        project === undefined
          ? api.GET("/api/v1/notifications/channels")
          : api.GET("/api/v1/projects/{project}/channels", { params: { path: { project } } }),
      ),
  });

export function useAddChannel(project?: string) {
  return useMutation({
    mutationFn: (body: ChannelCreate) =>
      take(
        project === undefined
          ? api.POST("/api/v1/notifications/channels", { body })
          : api.POST("/api/v1/projects/{project}/channels", { params: { path: { project } }, body }),
      ),
    onSuccess: refresh,
  });
}

export function useChangeChannel(project?: string) {
  return useMutation({
    mutationFn: ({ channel, kinds }: { channel: string; kinds: NotificationKind[] }) =>
      take(
        project === undefined
          ? api.PATCH("/api/v1/notifications/channels/{channel}", {
              params: { path: { channel } },
              body: { kinds },
            })
          : api.PATCH("/api/v1/projects/{project}/channels/{channel}", {
              params: { path: { project, channel } },
              body: { kinds },
            }),
      ),
    onSuccess: refresh,
  });
}

export function useRemoveChannel(project?: string) {
  return useMutation({
    mutationFn: (channel: string) =>
      take(
        project === undefined
          ? api.DELETE("/api/v1/notifications/channels/{channel}", { params: { path: { channel } } })
          : api.DELETE("/api/v1/projects/{project}/channels/{channel}", {
              params: { path: { project, channel } },
            }),
      ),
    onSuccess: refresh,
  });
}

export function useTestChannel(project?: string) {
  return useMutation({
    mutationFn: (channel: string) =>
      take(
        project === undefined
          ? api.POST("/api/v1/notifications/channels/{channel}/test", { params: { path: { channel } } })
          : api.POST("/api/v1/projects/{project}/channels/{channel}/test", {
              params: { path: { project, channel } },
            }),
      ),
  });
}

export const deliveriesQuery = (channel: string, project?: string) =>
  queryOptions({
    queryKey: ["notifications", "deliveries", project, channel],
    queryFn: () =>
      take(
        project === undefined
          ? api.GET("/api/v1/notifications/channels/{channel}/deliveries", { params: { path: { channel } } })
          : api.GET("/api/v1/projects/{project}/channels/{channel}/deliveries", {
              params: { path: { project, channel } },
            }),
      ),
    staleTime: 0,
  });

export const smtpQuery = queryOptions({
  queryKey: ["notifications", "smtp"],
  queryFn: () => take(api.GET("/api/v1/notifications/smtp")),
});

export function useSetSmtp() {
  return useMutation({
    mutationFn: (body: SmtpSet) => take(api.PUT("/api/v1/notifications/smtp", { body })),
    onSuccess: refresh,
  });
}

export function useRemoveSmtp() {
  return useMutation({
    mutationFn: () => take(api.DELETE("/api/v1/notifications/smtp")),
    onSuccess: () => {
      queries.removeQueries({ queryKey: ["notifications", "smtp"] });
      return refresh();
    },
  });
}

export function useTestSmtp() {
  return useMutation({
    mutationFn: (to: string) => take(api.POST("/api/v1/notifications/smtp/test", { body: { to } })),
  });
}
