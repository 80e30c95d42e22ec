import { Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { jobsQuery } from "../../../api/jobs";
import type { Compute } from "../../../api/shapes";
import { Paged } from "../../../components/Paged";
import { TextLink } from "../../../components/TextLink";
import { JobTable } from "../../Job/parts/JobTable";

/** What runs on a compute now, as far as the viewer may see it. */
export function JobsThere({ compute }: { compute: Compute }) {
  const result = useInfiniteQuery(jobsQuery({ compute: compute.name, state: "running" }));
  return (
    <section aria-label="Running jobs">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5">
          Running jobs
        </Title>
        <TextLink to="/jobs" search={{ compute: compute.name }} size="sm">
          All jobs of {compute.name}
        </TextLink>
      </Group>
      <Paged
        result={result}
        empty={
          <Text size="sm" c="dimmed">
            No running jobs that you can see.
          </Text>
        }
      >
        {(jobs) => <JobTable jobs={jobs} label={`Running jobs of ${compute.name}`} />}
      </Paged>
    </section>
  );
}
