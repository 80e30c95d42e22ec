import { useMutation } from "@tanstack/react-query";
import { api, take } from "./client";

interface Port {
  project: string;
  job: string;
  port: number;
}

/** An address at which a port of a running job opens, once, for a minute. */
export function useOpenPort() {
  return useMutation({
    mutationFn: (path: Port) =>
      take(api.POST("/api/v1/projects/{project}/jobs/{job}/ports/{port}/open", { params: { path } })),
  });
}
