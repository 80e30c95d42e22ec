import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import { byPage, paged } from "./paging";
import type { Job, JobCreate, JobKind, JobState, Schemas } from "./shapes";

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

/** How many are shown at once: a table of more is slow to draw, and every change asks for all of them again. */
const PAGE_JOBS = 100;
const MOST_JOBS = 1000;

export const jobPages = ({ state, ...filter }: JobFilter) => jobsIn(state && [state], filter);

/** Those in one of several states; in any, without. */
export const jobsIn = (state: JobState[] | undefined, filter: Omit<JobFilter, "state">) =>
  byPage(["jobs", "pages", filter, state], (cursor) =>
    take(api.GET("/api/v1/jobs", { params: { query: { ...filter, state, cursor, limit: PAGE_JOBS } } })),
  );

/** All that match, however many requests that takes. */
export async function allJobs({ state, ...filter }: JobFilter): Promise<Job[]> {
  const found: Job[] = [];
  let cursor: string | undefined;
  do {
    const query = { ...filter, state: state && [state], limit: MOST_JOBS, cursor };
    const page = await take(api.GET("/api/v1/jobs", { params: { query } }));
    found.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor);
  return found;
}

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

export const eventsQuery = (place: JobPlace) =>
  queryOptions({
    queryKey: ["jobs", "events", place],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/jobs/{job}/events", { params: { path: place } })),
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
      take(
        api.POST("/api/v1/projects/{project}/jobs", {
          params: { path: { project } },
          body: body as Schemas["JobCreate"],
        }),
      ),
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

/** Out of the queue until it is resumed; a running one first saves its checkpoint. */
export function useSuspendJob() {
  return useJobAction((path) =>
    take(api.POST("/api/v1/projects/{project}/jobs/{job}/suspend", { params: { path } })),
  );
}

export function useResumeJob() {
  return useJobAction((path) =>
    take(api.POST("/api/v1/projects/{project}/jobs/{job}/resume", { params: { path } })),
  );
}

export function useDeleteJob() {
  return useJobAction((path) =>
    take(api.DELETE("/api/v1/projects/{project}/jobs/{job}", { params: { path } })),
  );
}

export type BulkChange = "stop" | "delete" | "undelete";

/** What became of several: those that were changed, and why the others were not. */
export interface Outcome {
  jobs: Job[];
  problems: string[];
}

/** So many in one request: an answer comes within seconds. */
const MOST_AT_ONCE = 200;

/** Stop, delete or bring back several; one that cannot be changed keeps no other from its end. */
export function useChangeJobs() {
  return useMutation({
    mutationFn: async ({ jobs, what }: { jobs: readonly Job[]; what: BulkChange }): Promise<Outcome> => {
      const outcome: Outcome = { jobs: [], problems: [] };
      for (const { project, ids } of requestsFor(jobs)) {
        const { items } = await changeMany(what, project, ids);
        for (const { asked, job, problem } of items) {
          if (job) outcome.jobs.push(job);
          else outcome.problems.push(problem ?? `${asked} was left as it is.`);
        }
      }
      return outcome;
    },
    onSettled: refreshJobs,
  });
}

/** By project, since a role is had in one, and in parts. */
export function requestsFor(jobs: readonly Job[]): { project: string; ids: string[] }[] {
  const projects = [...new Set(jobs.map((job) => job.project))];
  return projects.flatMap((project) => {
    const ids = jobs.filter((job) => job.project === project).map((job) => job.id);
    const parts = Math.ceil(ids.length / MOST_AT_ONCE);
    return Array.from({ length: parts }, (_, part) => ({
      project,
      ids: ids.slice(part * MOST_AT_ONCE, (part + 1) * MOST_AT_ONCE),
    }));
  });
}

function changeMany(what: BulkChange, project: string, jobs: string[]) {
  const asked = { params: { path: { project } }, body: { jobs } };
  if (what === "stop") return take(api.POST("/api/v1/projects/{project}/jobs/stop", asked));
  if (what === "delete") return take(api.POST("/api/v1/projects/{project}/jobs/delete", asked));
  return take(api.POST("/api/v1/projects/{project}/jobs/undelete", asked));
}

export function useUndeleteJob() {
  return useJobAction((path) =>
    take(api.POST("/api/v1/projects/{project}/jobs/{job}/undelete", { params: { path } })),
  );
}
