import { queryOptions } from "@tanstack/react-query";
import { reportReach } from "../lib/reach";
import { api, take } from "./client";

const WELL_MILLISECONDS = 15_000;
const UNWELL_MILLISECONDS = 3_000;

/** What the server needs and cannot use now. It needs no sign-in, and answers while the database is away. */
export const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: async () => {
    const found = await take(api.GET("/api/v1/health"));
    if (found.status !== "unavailable") reportReach(true);
    return found;
  },
  refetchInterval: (query) =>
    query.state.data?.status === "ready" && query.state.status === "success"
      ? WELL_MILLISECONDS
      : UNWELL_MILLISECONDS,
});
