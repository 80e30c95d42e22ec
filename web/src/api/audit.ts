import { apiAddress } from "../lib/base";
import { api, take } from "./client";
import { byPage } from "./paging";

/** How the log is narrowed. With a project, its administrators may ask. */
export interface AuditFilter {
  q?: string;
  who?: string;
  action?: string;
  subject?: string;
  project?: string;
  address?: string;
  since?: string;
  until?: string;
}

/** Newest first. */
export const auditPages = ({ project, ...query }: AuditFilter) =>
  byPage(["audit", project, query], (cursor) =>
    take(
      project
        ? api.GET("/api/v1/projects/{project}/audit", {
            params: { path: { project }, query: { ...query, cursor } },
          })
        : api.GET("/api/v1/audit", { params: { query: { ...query, cursor } } }),
    ),
  );

/** Where all of it is downloaded, oldest first. */
export function auditExport({ project, ...query }: AuditFilter, format: "jsonl" | "syslog"): string {
  const path = project ? `/projects/${encodeURIComponent(project)}/audit/export` : "/audit/export";
  return apiAddress(path, { ...query, format });
}
