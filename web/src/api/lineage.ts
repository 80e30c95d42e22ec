import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";
import type { LineageNode } from "./shapes";

export type LineageDirection = "up" | "down" | "both";

/** What the graph is asked about: exactly one of them. `commit` is `[project/]dataset@ref`. */
export interface LineageRoot {
  commit?: string;
  run?: string;
  job?: string;
}

export interface LineageAsked {
  direction: LineageDirection;
  /** Steps from the root, nodes in all, and neighbours of a node on one side. */
  depth: number;
  limit: number;
  width: number;
}

export const lineageGraphQuery = (project: string, root: LineageRoot, asked: LineageAsked) =>
  queryOptions({
    queryKey: ["lineage", project, root, asked],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/lineage", {
          params: { path: { project }, query: { ...root, ...asked } },
        }),
      ),
  });

/** How a node that is shown is asked about; null for one that is gone. */
export function rootOf(node: LineageNode): LineageRoot | null {
  if (node.is_gone) return null;
  if (node.kind === "run") return { run: node.id };
  if (node.kind === "commit" && node.dataset) return { commit: `${node.project}/${node.dataset}@${node.id}` };
  return null;
}
