import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, take } from "./client";
import type { DatasetPlace } from "./datasets";
import { byPage, paged } from "./paging";

export interface CommitPlace extends DatasetPlace {
  ref: string;
}

export interface FilePlace extends CommitPlace {
  path: string;
}

/** The history of a ref; of code and outputs of jobs without one, every commit. */
type History = DatasetPlace & { ref?: string };

export const commitsQuery = ({ ref, ...path }: History) =>
  paged(["commits", path, ref], (cursor) => someCommits({ ref, ...path }, cursor));

export const commitsPages = ({ ref, ...path }: History) =>
  byPage(["commits", path, ref], (cursor) => someCommits({ ref, ...path }, cursor));

const someCommits = ({ ref, ...path }: History, cursor: string | undefined) =>
  take(
    api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits", {
      params: { path, query: { ref, cursor } },
    }),
  );

export const commitQuery = (place: CommitPlace) =>
  queryOptions({
    queryKey: ["commit", place],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}", { params: { path: place } }),
      ),
  });

/** Asked again until all was checked: that takes the server a moment after each commit. */
export const verificationQuery = (place: CommitPlace) =>
  queryOptions({
    refetchInterval: ({ state: { data } }) => (data && data.verified_packs < data.packs ? 5_000 : false),
    queryKey: ["commit", place, "verification"],
    queryFn: () =>
      take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}/verification", {
          params: { path: place },
        }),
      ),
  });

/** One directory of one commit, by its whole id: that never changes, so it is asked for once. */
export const entriesQuery = ({ path, ...place }: FilePlace, start: string | undefined) => ({
  ...paged(["entries", place, path, start], (cursor) =>
    take(
      api.GET("/api/v1/projects/{project}/datasets/{dataset}/commits/{ref}/entries", {
        params: { path: place, query: { path, start, cursor, limit: 1000 } },
      }),
    ),
  ),
  staleTime: "static" as const,
});

/** What differs, a part at a time; the counts stand on every part and are those of the whole. */
export const diffQuery = (path: DatasetPlace, before: string, after: string) =>
  infiniteQueryOptions({
    queryKey: ["diff", path, before, after],
    queryFn: ({ pageParam }) =>
      take(
        api.GET("/api/v1/projects/{project}/datasets/{dataset}/diff", {
          params: { path, query: { before, after, limit: 200, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });

/** The address of one file's bytes, for `<img>` and downloads: the browser sends the session's cookie itself. */
export function fileAddress(file: FilePlace, options: { download?: boolean } = {}): string {
  const [project, dataset, ref] = [file.project, file.dataset, file.ref].map(encodeURIComponent);
  const address = `/projects/${project}/datasets/${dataset}/commits/${ref}/file`;
  return apiAddress(address, { path: file.path, download: options.download ? 1 : undefined });
}
