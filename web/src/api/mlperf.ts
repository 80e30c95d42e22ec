import { queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

/** What was measured of model servers in a project, as the tables of TR-4886. */
export const mlperfQuery = (project: string) =>
  queryOptions({
    queryKey: ["runs", "mlperf", project],
    queryFn: () => take(api.GET("/api/v1/projects/{project}/mlperf", { params: { path: { project } } })),
  });
