import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { paged } from "./paging";
import type { Job, JobCreate, JobKind, JobState } from "./shapes";

export interface JobPlace {
  project: string;
  job: string;
}

export interface JobFilter {
  project?: string;
  state?: JobState;
  deleted?: boolean;
  mine?: boolean;
  user?: string;
  compute?: string;
  kind?: JobKind;
  /** In the name, or the beginning of the id. */
  text?: string;
}

export function refreshJobs(): Promise<unknown> {
  return Promise.all(["jobs", "runs", "home"].map((noun) => queries.invalidateQueries({ queryKey: [noun] })));
}

export const jobsQuery = ({ state, ...filter }: JobFilter) =>
  paged(["jobs", "list", filter, state], (cursor) =>
    take(
      api.GET("/api/v1/jobs", {
        params: { query: { ...filter, state: state && [state], cursor, limit: 50 } },
      }),
    ),
  );

export const jobQuery = (place: JobPlace) =>
  queryOptions({
    queryKey: ["jobs", "one", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/jobs/{job}", { params: { path: place } })),
  });

export const attemptsQuery = (place: JobPlace) =>
  queryOptions({
    queryKey: ["jobs", "attempts", place],
    queryFn: () =>
      take(api.GET("/api/v1/projects/{project}/jobs/{job}/attempts", { params: { path: place } })),
  });

export const whyQuery = (place: JobPlace) =>
  queryOptions({
    queryKey: ["jobs", "why", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/jobs/{job}/why", { params: { path: place } })),
  });

export const usageQuery = (place: JobPlace) =>
  queryOptions({
    queryKey: ["usage", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/jobs/{job}/usage", { params: { path: place } })),
  });

export function useSubmitJob() {
  return useMutation({
    mutationFn: ({ project, ...body }: JobCreate & { project: string }) =>
      take(api.POST("/api/v1/projects/{project}/jobs", { params: { path: { project } }, body })),
    onSettled: refreshJobs,
  });
}

function useJobAction(ask: (path: JobPlace) => Promise<unknown>) {
  return useMutation({ mutationFn: ask, onSettled: refreshJobs });
}

export function useStopJob() {
  return useJobAction((path) =>
    take(api.POST("/api/v1/projects/{project}/jobs/{job}/stop", { params: { path } })),
  );
}

export function useDeleteJob() {
  return useJobAction((path) =>
    take(api.DELETE("/api/v1/projects/{project}/jobs/{job}", { params: { path } })),
  );
}

/** Stop or delete several; each is asked for on its own, so that one that fails keeps no other from its end. */
export function useChangeJobs() {
  return useMutation({
    mutationFn: async ({ jobs, what }: { jobs: Job[]; what: "stop" | "delete" }) => {
      const asked = jobs.map(({ project, id }) => {
        const params = { path: { project, job: id } };
        return what === "stop"
          ? take(api.POST("/api/v1/projects/{project}/jobs/{job}/stop", { params }))
          : take(api.DELETE("/api/v1/projects/{project}/jobs/{job}", { params }));
      });
      const answers = await Promise.allSettled(asked);
      const failed = answers.find((answer) => answer.status === "rejected");
      if (failed) throw failed.reason;
    },
    onSettled: refreshJobs,
  });
}

export function useUndeleteJob() {
  return useJobAction((path) =>
    take(api.POST("/api/v1/projects/{project}/jobs/{job}/undelete", { params: { path } })),
  );
}
