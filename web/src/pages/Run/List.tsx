import { Group, Paper, Switch, Text } from "@mantine/core";
import { IconTimeline } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { runsQuery } from "../../api/runs";
import type { Run } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { Duration } from "../../components/Duration";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { formatMetric } from "./parts/MetricCharts";

const route = getRouteApi("/in/runs");
const column = createColumnHelper<Run>();

const COLUMNS = [
  column.accessor("name", { header: "Name", cell: ({ row }) => <RunLink run={row.original} /> }),
  column.accessor((run) => run.job_state ?? run.state, {
    id: "state",
    header: "State",
    cell: ({ getValue }) => <Status state={getValue()} />,
  }),
  column.accessor("experiment", { header: "Experiment" }),
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <span className="unbroken">{getValue()}</span>,
  }),
  column.accessor("created_by", { header: "User" }),
  column.accessor("started_at", { header: "Started", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.display({
    id: "duration",
    header: "Duration",
    cell: ({ row }) => <Duration start={row.original.started_at} end={row.original.ended_at} />,
  }),
  column.display({ id: "metrics", header: "Metrics", cell: ({ row }) => <Metrics run={row.original} /> }),
];

export function RunList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({ ...runsQuery(filter), placeholderData: keepPreviousData });
  const change = (part: typeof filter) => navigate({ search: { ...filter, ...part }, replace: true });
  const narrowed = filter.project || filter.experiment || filter.deleted;
  return (
    <>
      <PageHeader title="Runs" />
      <Group mb="md">
        <Filter
          label="Experiment"
          value={filter.experiment ?? ""}
          onChange={(experiment) => change({ experiment: experiment || undefined })}
        />
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        <Switch
          label="Bin"
          checked={!!filter.deleted}
          onChange={(event) => change({ deleted: event.currentTarget.checked || undefined })}
        />
      </Group>
      <Paged result={result} empty={narrowed ? <Text>No run matches.</Text> : <NoRuns />}>
        {(runs) => (
          <Paper withBorder>
            <DataTable label="Runs" rows={runs} columns={COLUMNS} rowId={(run) => run.id} />
          </Paper>
        )}
      </Paged>
    </>
  );
}

function RunLink({ run }: { run: Run }) {
  return (
    <TextLink
      to="/projects/$project/runs/$run"
      params={{ project: run.project, run: run.id }}
      size="sm"
      fw={600}
      className="row-name"
    >
      {run.name}
    </TextLink>
  );
}

function Metrics({ run }: { run: Run }) {
  const shown = Object.entries(run.metrics).slice(0, 3);
  return (
    <Text size="sm" className="mono">
      {shown.map(([key, value]) => `${key} ${formatMetric(value)}`).join("  ")}
    </Text>
  );
}

function NoRuns() {
  return (
    <EmptyState
      icon={IconTimeline}
      sentence="A run documents itself: every job has one, and any script or notebook can start one."
      command={"python -c \"import millpond; millpond.init(); millpond.log_metric('loss', 0.25, step=1)\""}
    />
  );
}
