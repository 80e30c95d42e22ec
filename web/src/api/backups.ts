/** Backups of the server, for administrators. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { BackupStatus } from "./shapes";

const refresh = () => queries.invalidateQueries({ queryKey: ["backups"] });
const LOOK_MILLISECONDS = 2_000;

const isBusy = (status: BackupStatus | undefined) =>
  status?.runs.some((run) => run.state === "queued" || run.state === "running") ?? false;

/** Asked for again while the server is at it. */
export const backupStatusQuery = queryOptions({
  queryKey: ["backups", "status"],
  queryFn: () => take(api.GET("/api/v1/backups/status")),
  refetchInterval: ({ state }) => (isBusy(state.data) ? LOOK_MILLISECONDS : false),
});

/** `newest` is part of the key: a backup that was made shows at once. */
export const backupsQuery = (newest: string | null | undefined) =>
  queryOptions({
    queryKey: ["backups", "list", newest ?? ""],
    queryFn: () => take(api.GET("/api/v1/backups")),
  });

export function useCreateBackup() {
  return useMutation({
    mutationFn: () => take(api.POST("/api/v1/backups")),
    onSuccess: refresh,
  });
}

export function useVerifyBackup() {
  return useMutation({
    mutationFn: (backup: string) =>
      take(api.POST("/api/v1/backups/{backup}/verify", { params: { path: { backup } } })),
    onSuccess: refresh,
  });
}
