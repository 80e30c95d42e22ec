import { Paper } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { FlowRunSummary } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { BriefEmptyState } from "../../../components/EmptyState";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";

const column = createColumnHelper<FlowRunSummary>();

export function RunTable({ project, runs }: { project: string; runs: FlowRunSummary[] }) {
  if (runs.length === 0) return <BriefEmptyState words="No runs yet. Start one with the Run button." />;
  const columns = [
    column.accessor("number", {
      header: "Run",
      cell: ({ row }) => (
        <TextLink
          to="/projects/$project/flow-runs/$run"
          params={{ project, run: row.original.id }}
          size="sm"
          fw={600}
        >
          #{row.original.number}
        </TextLink>
      ),
    }),
    column.accessor("state", {
      header: "State",
      cell: ({ getValue }) => <Status state={getValue() as never} />,
    }),
    column.accessor("version", { header: "Version" }),
    column.accessor((run) => run.trigger.type, {
      id: "trigger",
      header: "Started by",
      cell: ({ row }) =>
        `${row.original.trigger.by || row.original.created_by}${row.original.trigger.type === "manual" ? "" : ` (${row.original.trigger.type})`}`,
    }),
    column.accessor("created_at", { header: "Started", cell: ({ getValue }) => <Time at={getValue()} /> }),
    column.accessor((run) => run.ended_at ?? "", {
      id: "duration",
      header: "Duration",
      cell: ({ row }) => <Duration start={row.original.started_at} end={row.original.ended_at} />,
    }),
    column.accessor("reason", { header: "Reason" }),
  ];
  return (
    <Paper withBorder>
      <DataTable
        label="Runs of the flow"
        rows={runs}
        columns={columns}
        rowId={(run) => run.id}
        minWidth={720}
      />
    </Paper>
  );
}
