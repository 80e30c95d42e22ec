import { Alert } from "@mantine/core";
import { IconZzz } from "@tabler/icons-react";
import { Fragment } from "react";
import type { Home } from "../../api/shapes";
import { JobLink } from "../../components/JobLink";
import { formatGpus } from "../../lib/quantity";

/** Who holds GPUs without using them: others wait for those. */
export function IdleGpus({ home }: { home: Home }) {
  const jobs = home.idle_jobs;
  if (jobs.length === 0) return null;
  return (
    <Alert color="yellow" icon={<IconZzz />} title="GPUs that nobody uses">
      {jobs.map((job, index) => (
        <Fragment key={job.id}>
          {index > 0 && ", "}
          <JobLink project={job.project} job={job.id}>
            {job.written}
          </JobLink>{" "}
          of {job.created_by} holds {formatGpus(job.gpu_hundredths * Math.max(1, job.processes))}
        </Fragment>
      ))}
      . Nothing was computed on them for more than 5 minutes.
    </Alert>
  );
}
