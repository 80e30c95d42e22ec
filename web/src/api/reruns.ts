/** Making a run again: what that would come to, and doing it. */
import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { api, take } from "./client";
import { refreshJobs } from "./jobs";
import type { RunPlace } from "./runs";
import type { RerunAsked, Schemas } from "./shapes";

const ask = (place: RunPlace, asked: RerunAsked) =>
  take(
    api.POST("/api/v1/projects/{project}/runs/{run}/rerun", {
      params: { path: place },
      body: asked as Schemas["RerunAsked"],
    }),
  );

/** What would be the same, differ or be gone. */
export const rerunPlanQuery = (place: RunPlace, asked: RerunAsked) =>
  queryOptions({
    queryKey: ["rerun", place, asked],
    queryFn: () => ask(place, { ...asked, dry_run: true }),
    // While somebody types, what was known stays in sight.
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

export function useRerun(place: RunPlace) {
  return useMutation({ mutationFn: (asked: RerunAsked) => ask(place, asked), onSettled: refreshJobs });
}
