import { Stack } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { LogView } from "../../Job/parts/LogView";
import { Reasons } from "../../Job/parts/Reasons";

/** The log of a job, its end first; above it why the job failed. */
export function LogTab({ job }: { job: Job }) {
  return (
    <Stack>
      {job.state !== "queued" && <Reasons job={job} />}
      <section aria-label="Log">
        <LogView key={job.id} job={job} />
      </section>
    </Stack>
  );
}
