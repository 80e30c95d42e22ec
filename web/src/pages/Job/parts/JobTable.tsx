import { Paper, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { Job } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatGpus } from "../../../lib/quantity";
import { JobActions } from "./JobActions";

const column = createColumnHelper<Job>();

const COLUMNS = [
  column.accessor("name", { header: "Name", cell: ({ row }) => <Name job={row.original} /> }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State job={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor("created_by", { header: "User" }),
  column.accessor("queued_at", { header: "Queued", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor((job) => job.ledger.total, {
    id: "duration",
    header: "Duration",
    cell: ({ row }) => <Duration start={row.original.queued_at} end={row.original.ended_at} />,
  }),
  column.accessor((job) => job.compute ?? "", {
    id: "compute",
    header: "Compute",
    cell: ({ getValue }) => getValue() || "–",
  }),
  column.accessor("gpu_hundredths", { header: "GPUs", cell: ({ getValue }) => formatGpus(getValue()) }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <JobActions job={row.original} compact />,
  }),
];

export function JobTable({ jobs, label }: { jobs: Job[]; label: string }) {
  return (
    <Paper withBorder>
      <DataTable label={label} rows={jobs} columns={COLUMNS} rowId={(job) => job.id} />
    </Paper>
  );
}

function Name({ job }: { job: Job }) {
  return (
    <TextLink
      to="/projects/$project/jobs/$job"
      params={{ project: job.project, job: job.id }}
      size="sm"
      fw={600}
    >
      {job.written}
    </TextLink>
  );
}

/** A job that waits or failed says why in a line below. */
function State({ job }: { job: Job }) {
  const why = job.problem ?? (["queued", "preempted"].includes(job.state) ? job.reasons.at(-1) : null);
  return (
    <>
      <Status state={job.state} />
      {why && (
        <Text size="xs" c="dimmed" maw={280} lineClamp={2} title={why}>
          {why}
        </Text>
      )}
    </>
  );
}
