import { Checkbox, Group, Paper, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { createContext, useContext, useState } from "react";
import { useMemberProjects } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { tell } from "../../../components/notify";
import { ProjectLink } from "../../../components/ProjectLink";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatGpus } from "../../../lib/quantity";
import { BulkActions } from "./BulkActions";
import { JobActions } from "./JobActions";
import { endingWords, isFinished, mainReason, shareWords } from "./states";

/** Rows are drawn by the table: what is chosen reaches them this way. */
interface Choosing {
  /** Those in sight that may be chosen. */
  jobs: readonly Job[];
  ids: ReadonlySet<string>;
  choose: (jobs: readonly Job[], on: boolean) => void;
}

const ChosenJobs = createContext<Choosing>({ jobs: [], ids: new Set(), choose: () => {} });

const column = createColumnHelper<Job>();

const COLUMNS = [
  column.display({
    id: "chosen",
    header: () => <ChoiceOfAll />,
    cell: ({ row }) => <Choice job={row.original} />,
  }),
  column.accessor("name", { header: "Name", cell: ({ row }) => <Name job={row.original} /> }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State job={row.original} /> }),
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <ProjectLink project={getValue()} />,
  }),
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
    cell: ({ row }) => <Place job={row.original} />,
  }),
  column.accessor("gpu_hundredths", { header: "GPUs", cell: ({ row }) => <Gpus job={row.original} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <JobActions job={row.original} />,
  }),
];

interface Props {
  jobs: Job[];
  label: string;
  /** All that match, where the table shows but a page of them. */
  all?: () => Promise<Job[]>;
}

/** The table, and what can be done to several of its jobs at once, also of pages that were shown before. */
export function JobTable({ jobs, label, all }: Props) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Job>>(new Map());
  const mine = useMemberProjects();
  const mayChoose = (job: Job) => mine.includes(job.project);
  const choose = (some: readonly Job[], on: boolean) =>
    setChosen((before) => {
      const after = new Map(before);
      for (const job of some) on ? after.set(job.id, job) : after.delete(job.id);
      return after;
    });
  // As they are now, where they are in sight.
  const current = new Map(jobs.map((job) => [job.id, job]));
  const shown = [...chosen.values()].map((job) => current.get(job.id) ?? job);
  const chooseAll = all && (() => tell(all(), (found) => choose(found.filter(mayChoose), true)));
  return (
    <ChosenJobs value={{ jobs: jobs.filter(mayChoose), ids: new Set(chosen.keys()), choose }}>
      <BulkActions jobs={shown} onNone={() => setChosen(new Map())} onAll={chooseAll} />
      <Paper withBorder>
        <DataTable label={label} rows={jobs} columns={COLUMNS} rowId={(job) => job.id} />
      </Paper>
    </ChosenJobs>
  );
}

/** All that are shown: with a filter, all that match it and were loaded. */
function ChoiceOfAll() {
  const { jobs, ids, choose } = useContext(ChosenJobs);
  if (jobs.length === 0) return null;
  const chosen = jobs.filter((job) => ids.has(job.id)).length;
  return (
    <Checkbox
      aria-label="Select all shown"
      checked={chosen === jobs.length}
      indeterminate={chosen > 0 && chosen < jobs.length}
      onChange={(event) => choose(jobs, event.currentTarget.checked)}
    />
  );
}

function Choice({ job }: { job: Job }) {
  const { jobs, ids, choose } = useContext(ChosenJobs);
  if (!jobs.includes(job)) return null;
  return (
    <Checkbox
      aria-label={`Choose ${job.written}`}
      checked={ids.has(job.id)}
      onChange={(event) => choose([job], event.currentTarget.checked)}
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
      className="row-name"
    >
      {job.written}
    </TextLink>
  );
}

function Place({ job }: { job: Job }) {
  if (!job.compute) return "–";
  return (
    <TextLink to="/compute/$compute" params={{ compute: job.compute }} size="sm" className="unbroken">
      {job.compute}
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
  const reason =
    job.problem ?? (["queued", "preempted", "cancelled"].includes(job.state) ? mainReason(job) : null);
  // What stands beside the state is not said twice.
  const why = reason !== endingWords(job) && reason;
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <Status state={job.state} />
        <Beside job={job} />
      </Group>
      {why && (
        <Text size="xs" c="dimmed" maw={280} lineClamp={2} title={job.problem ?? job.reasons.join("\n")}>
          {why}
        </Text>
      )}
    </>
  );
}
