import type { ReactNode } from "react";
import { TextLink } from "./TextLink";

/** A job named in the middle of a sentence. */
export function JobLink({ project, job, children }: { project: string; job: string; children: ReactNode }) {
  return (
    <TextLink to="/projects/$project/jobs/$job" params={{ project, job }} underline="always" inherit>
      {children}
    </TextLink>
  );
}
