import { Button, Center, Paper, Stack, Text } from "@mantine/core";
import { IconClock } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { useState } from "react";
import { pendingQuery } from "../../../api/pending";
import type { PendingJob } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable, WholeList } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { EmptyState } from "../../../components/EmptyState";
import { JobLink } from "../../../components/JobLink";
import { Loaded } from "../../../components/Loaded";
import { ProjectLink } from "../../../components/ProjectLink";
import { Time } from "../../../components/Time";
import { shellQuote, splitWritten } from "../../../lib/names";
import { NewJobButton } from "../../Job/parts/NewJobButton";
import { withoutWaiting } from "../../Job/parts/states";

/** A table of more rows is slow to draw. */
const AT_ONCE = 200;

const column = createColumnHelper<PendingJob>();

const COLUMNS = [
  column.accessor("position", { header: "Position" }),
  column.accessor((one) => one.job ?? "", {
    id: "job",
    header: "Job",
    cell: ({ row }) => <Name pending={row.original} />,
  }),
  column.accessor((one) => one.project ?? "", {
    id: "project",
    header: "Project",
    cell: ({ row: { original } }) =>
      original.project ? <ProjectLink project={original.project} /> : "another",
  }),
  column.accessor("gpus", { header: "GPUs" }),
  column.accessor("priority", { header: "Priority" }),
  column.accessor("submitted_at", {
    header: "Waiting",
    cell: ({ getValue }) => <Duration start={getValue()} end={null} />,
  }),
  column.accessor((one) => one.expected_start ?? "", {
    id: "expected",
    header: "Expected start",
    cell: ({ row }) => (row.original.expected_start ? <Time at={row.original.expected_start} /> : "unknown"),
  }),
  column.accessor("rule", { header: "Rule" }),
  column.accessor("reason", {
    header: "Reason",
    cell: ({ getValue }) => (
      <Text size="sm" maw={380}>
        {withoutWaiting(getValue())}
      </Text>
    ),
  }),
];

/** The waiting line: the next job first. */
export function PendingJobs({ project }: { project: string | undefined }) {
  const result = useQuery(pendingQuery(project));
  const [most, setMost] = useState(AT_ONCE);
  return (
    <Stack>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconClock}
              sentence="No jobs are waiting."
              action={<NewJobButton project={project} />}
              command="mill submit -g 1 -- python train.py"
            />
          ) : (
            <>
              <Paper withBorder>
                <WholeList value={items.length <= most}>
                  <DataTable
                    label="Pending jobs"
                    rows={items.slice(0, most)}
                    columns={COLUMNS}
                    rowId={(one) => one.id ?? String(one.position)}
                    minWidth={950}
                  />
                </WholeList>
              </Paper>
              {items.length > most && (
                <Center>
                  <Button variant="default" onClick={() => setMost(most + AT_ONCE)}>
                    Show more
                  </Button>
                </Center>
              )}
            </>
          )
        }
      </Loaded>
      <CommandLine command={project ? `mill pending -p ${shellQuote(project)}` : "mill pending -A"} />
    </Stack>
  );
}

function Name({ pending: { id, job, project } }: { pending: PendingJob }) {
  if (id === null || job === null || project === null) return "of another project";
  return (
    <JobLink project={project} job={id}>
      {splitWritten(job).name || job}
    </JobLink>
  );
}
