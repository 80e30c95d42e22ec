import { useMutation } from "@tanstack/react-query";
import { api, take } from "./client";

export interface Port {
  project: string;
  job: string;
  port: number;
  /** Beside which process of a distributed job it listens. */
  rank: number;
}

/** An address at which a port of a running job opens, once, for a minute. */
export function useOpenPort() {
  return useMutation({
    mutationFn: ({ rank, ...path }: Port) =>
      take(
        api.POST("/api/v1/projects/{project}/jobs/{job}/ports/{port}/open", {
          params: { path, query: rank > 0 ? { rank } : {} },
        }),
      ),
  });
}
