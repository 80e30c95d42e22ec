import { Checkbox, Group, Paper, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { createContext, useContext, useState } from "react";
import { useMay } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatGpus } from "../../../lib/quantity";
import { BulkActions } from "./BulkActions";
import { JobActions } from "./JobActions";
import { endingWords, isFinished, shareWords } from "./states";

/** Rows are drawn by the table: what is chosen reaches them this way. */
const ChosenJobs = createContext<{ ids: ReadonlySet<string>; choose: (id: string, on: boolean) => void }>({
  ids: new Set(),
  choose: () => {},
});

const column = createColumnHelper<Job>();

const COLUMNS = [
  column.display({ id: "chosen", header: "", cell: ({ row }) => <Choice job={row.original} /> }),
  column.accessor("name", { header: "Name", cell: ({ row }) => <Name job={row.original} /> }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State job={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor("created_by", {
    header: "User",
    cell: ({ getValue }) => (
      <TextLink to="/jobs" search={{ user: getValue() }} size="sm">
        {getValue()}
      </TextLink>
    ),
  }),
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
  column.accessor("gpu_hundredths", { header: "GPUs", cell: ({ row }) => <Gpus job={row.original} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <JobActions job={row.original} compact />,
  }),
];

/** The table, and what can be done to several of its jobs at once. */
export function JobTable({ jobs, label }: { jobs: Job[]; label: string }) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const choose = (id: string, on: boolean) =>
    setIds((before) => new Set(on ? [...before, id] : [...before].filter((one) => one !== id)));
  return (
    <ChosenJobs value={{ ids, choose }}>
      <BulkActions jobs={jobs.filter((job) => ids.has(job.id))} onDone={() => setIds(new Set())} />
      <Paper withBorder>
        <DataTable label={label} rows={jobs} columns={COLUMNS} rowId={(job) => job.id} />
      </Paper>
    </ChosenJobs>
  );
}

function Choice({ job }: { job: Job }) {
  const { ids, choose } = useContext(ChosenJobs);
  const may = useMay(job.project, "member");
  if (!may || job.deleted_at) return null;
  return (
    <Checkbox
      aria-label={`Choose ${job.written}`}
      checked={ids.has(job.id)}
      onChange={(event) => choose(job.id, event.currentTarget.checked)}
    />
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

function Gpus({ job }: { job: Job }) {
  const share = shareWords(job);
  return (
    <>
      {job.processes > 0 && job.gpu_hundredths > 0 && `${job.processes} × `}
      {formatGpus(job.gpu_hundredths)}
      {share && (
        <Text size="xs" c="dimmed">
          {share}
        </Text>
      )}
    </>
  );
}

/** How far it is, how it ended, or which attempt this is. */
function Beside({ job }: { job: Job }) {
  const words =
    job.state === "running" && job.progress !== null
      ? `${Math.round(100 * job.progress)} %`
      : isFinished(job.state)
        ? endingWords(job)
        : job.attempt > 1 && `attempt ${job.attempt}`;
  return words ? <Text size="xs">{words}</Text> : null;
}

/** A job that waits, failed or was cancelled says why in a line below. */
function State({ job }: { job: Job }) {
  const why =
    job.problem ?? (["queued", "preempted", "cancelled"].includes(job.state) ? job.reasons.at(-1) : null);
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <Status state={job.state} />
        <Beside job={job} />
      </Group>
      {why && (
        <Text size="xs" c="dimmed" maw={280} lineClamp={2} title={why}>
          {why}
        </Text>
      )}
    </>
  );
}
