import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";
import type { CommitPlace } from "./commits";

export type LineageDirection = "up" | "down";

/** What made a commit, or what was made from it. */
export const lineageQuery = (place: CommitPlace, direction: LineageDirection, depth: number) =>
  queryOptions({
    queryKey: ["commit", place, "lineage", direction, depth],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}/lineage", {
          params: { path: place, query: { direction, depth, limit: 1000 } },
        }),
      ),
  });
