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
    <Alert color="yellow" icon={<IconZzz />} title="Idle GPUs">
      {jobs.map((job, index) => (
        <Fragment key={job.id}>
          {index > 0 && ", "}
          <JobLink project={job.project} job={job.id}>
            {job.written}
          </JobLink>{" "}
          by {job.created_by} holds {formatGpus(job.gpu_hundredths * Math.max(1, job.processes))}
        </Fragment>
      ))}
      . Idle for more than 5 minutes.
    </Alert>
  );
}
