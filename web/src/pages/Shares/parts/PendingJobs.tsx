import { Paper, Stack, Text } from "@mantine/core";
import { IconClock } from "@tabler/icons-react";
import { createColumnHelper } from "@tanstack/react-table";
import { jobsIn } from "../../../api/jobs";
import type { Job, JobState } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { EmptyState } from "../../../components/EmptyState";
import { JobLink } from "../../../components/JobLink";
import { Pages } from "../../../components/Pages";
import { ProjectLink } from "../../../components/ProjectLink";
import { shellQuote } from "../../../lib/names";
import { NewJobButton } from "../../Job/parts/NewJobButton";
import { mainReason } from "../../Job/parts/states";

const PENDING: JobState[] = ["queued", "preempted"];

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
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <ProjectLink project={getValue()} />,
  }),
  column.accessor("created_by", { header: "User" }),
  column.accessor("gpus", { header: "GPUs" }),
  column.accessor("priority", { header: "Priority" }),
  column.accessor("queued_at", {
    header: "Waiting",
    cell: ({ getValue }) => <Duration start={getValue()} end={null} />,
  }),
  column.accessor("preemptions", { header: "Preemptions" }),
  column.accessor((job) => job.rule ?? "", { id: "rule", header: "Rule" }),
  column.display({ id: "reason", header: "Reason", cell: ({ row }) => <Reason job={row.original} /> }),
];

interface Props {
  project: string | undefined;
  page: number | undefined;
  onTurn: (page: number | undefined) => void;
}

export function PendingJobs({ project, page, onTurn }: Props) {
  return (
    <Stack>
      <Pages
        list={`pending ${project ?? ""}`}
        query={jobsIn(PENDING, { project })}
        page={page}
        onTurn={onTurn}
        empty={
          <EmptyState
            icon={IconClock}
            sentence="No jobs are waiting."
            action={<NewJobButton project={project} />}
            command="mill submit -g 1 -- python train.py"
          />
        }
      >
        {(jobs) => (
          <Paper withBorder>
            <DataTable
              label="Pending jobs"
              rows={jobs}
              columns={COLUMNS}
              rowId={(job) => job.id}
              minWidth={900}
            />
          </Paper>
        )}
      </Pages>
      <CommandLine command={`mill list --state queued ${project ? `-p ${shellQuote(project)}` : "-A"}`} />
    </Stack>
  );
}

function Reason({ job }: { job: Job }) {
  return (
    <Text size="sm" maw={420} title={job.reasons.join("\n")}>
      {mainReason(job) ?? "–"}
    </Text>
  );
}
