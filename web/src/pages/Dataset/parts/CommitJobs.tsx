import { Fragment } from "react";
import type { DatasetPlace } from "../../../api/datasets";
import type { Commit } from "../../../api/shapes";
import { TextLink } from "../../../components/TextLink";

/** The jobs that ran this commit as their code, or made it; the newest few. */
export function CommitJobs({ commit, place }: { commit: Commit; place: DatasetPlace }) {
  return commit.jobs.map((job, index) => (
    <Fragment key={job.id}>
      {index > 0 && ", "}
      <TextLink
        to="/projects/$project/jobs/$job"
        params={{ project: place.project, job: job.id }}
        underline="always"
        inherit
      >
        {job.name}#{job.number}
      </TextLink>
    </Fragment>
  ));
}
