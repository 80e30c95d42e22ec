import { Paper, Stack, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { gpuUseQuery } from "../../../api/gpuUse";
import { jobsIn } from "../../../api/jobs";
import type { Job, JobState } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { EmptyState } from "../../../components/EmptyState";
import { JobLink } from "../../../components/JobLink";
import { Pages } from "../../../components/Pages";
import { ProjectLink } from "../../../components/ProjectLink";
import { Status } from "../../../components/Status";
import { shellQuote } from "../../../lib/names";
import { NewJobButton } from "../../Job/parts/NewJobButton";
import { utilizationWords } from "./words";

const RUNNING: JobState[] = ["placed", "preparing", "running"];

const column = createColumnHelper<Job>();

const COLUMNS = [
  column.accessor("name", {
    header: "Job",
    cell: ({ row: { original: job } }) => (
      <JobLink project={job.project} job={job.id}>
        {job.written}
      </JobLink>
    ),
  }),
  column.accessor("state", { header: "State", cell: ({ getValue }) => <Status state={getValue()} /> }),
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <ProjectLink project={getValue()} />,
  }),
  column.accessor("created_by", { header: "User" }),
  column.accessor("kind", { header: "Kind" }),
  column.accessor((job) => job.node ?? "", { id: "node", header: "Node" }),
  column.accessor("gpus", { header: "GPUs" }),
  column.accessor((job) => job.started_at ?? "", {
    id: "started",
    header: "Run time",
    cell: ({ row }) => <Duration start={row.original.started_at} end={row.original.ended_at} />,
  }),
  column.accessor((job) => job.progress ?? -1, {
    id: "progress",
    header: "Progress",
    cell: ({ row }) => percentOf(row.original.progress),
  }),
  column.accessor("preemptions", { header: "Preemptions" }),
  column.display({
    id: "utilization",
    header: "GPU utilisation",
    cell: ({ row }) => <Utilization job={row.original} />,
  }),
];

interface Props {
  project: string | undefined;
  page: number | undefined;
  onTurn: (page: number | undefined) => void;
}

export function RunningJobs({ project, page, onTurn }: Props) {
  return (
    <Stack>
      <Pages
        list={`running ${project ?? ""}`}
        query={jobsIn(RUNNING, { project })}
        page={page}
        onTurn={onTurn}
        empty={
          <EmptyState
            icon={IconPlayerPlay}
            sentence="No jobs are running."
            action={<NewJobButton project={project} />}
            command="mill submit -g 1 -- python train.py"
          />
        }
      >
        {(jobs) => (
          <Paper withBorder>
            <DataTable
              label="Running jobs"
              rows={jobs}
              columns={COLUMNS}
              rowId={(job) => job.id}
              minWidth={950}
            />
          </Paper>
        )}
      </Pages>
      <CommandLine command={`mill list --state running ${project ? `-p ${shellQuote(project)}` : "-A"}`} />
    </Stack>
  );
}

function percentOf(progress: number | null): string {
  return progress === null ? "–" : `${Math.round(100 * progress)} %`;
}

function Utilization({ job }: { job: Job }) {
  const use = useQuery(gpuUseQuery).data?.jobs.find((one) => one.id === job.id);
  return (
    <>
      {utilizationWords(use?.utilization)}
      {use?.idle && (
        <Text size="xs" c="dimmed">
          idle for 5 minutes
        </Text>
      )}
    </>
  );
}
