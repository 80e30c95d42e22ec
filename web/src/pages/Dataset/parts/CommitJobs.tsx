import { Fragment } from "react";
import type { DatasetPlace } from "../../../api/datasets";
import type { Commit } from "../../../api/shapes";
import { JobLink } from "../../../components/JobLink";

/** The jobs that ran this commit as their code, or made it; the newest few. */
export function CommitJobs({ commit, place }: { commit: Commit; place: DatasetPlace }) {
  return commit.jobs.map((job, index) => (
    <Fragment key={job.id}>
      {index > 0 && ", "}
      <JobLink project={place.project} job={job.id}>
        {job.name}#{job.number}
      </JobLink>
    </Fragment>
  ));
}
