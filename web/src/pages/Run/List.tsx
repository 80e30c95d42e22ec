import { Group, Paper, Switch, Text } from "@mantine/core";
import { IconTimeline } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { runPages } from "../../api/runs";
import type { Run } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { Duration } from "../../components/Duration";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { ProjectLink } from "../../components/ProjectLink";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { formatMetric } from "../../lib/metric";
import { ChosenBar, ChosenRuns, RunChoice } from "./parts/ChosenRuns";
import { startOf } from "./parts/start";

const route = getRouteApi("/in/runs");
const column = createColumnHelper<Run>();

const COLUMNS = [
  column.display({ id: "chosen", header: "Select", cell: ({ row }) => <RunChoice run={row.original} /> }),
  column.accessor("name", { header: "Name", cell: ({ row }) => <RunLink run={row.original} /> }),
  column.accessor((run) => run.job_state ?? run.state, {
    id: "state",
    header: "State",
    cell: ({ getValue }) => <Status state={getValue()} />,
  }),
  column.accessor("experiment", { header: "Experiment" }),
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <ProjectLink project={getValue()} />,
  }),
  column.accessor("created_by", { header: "User" }),
  column.accessor((run) => startOf(run) ?? "", {
    id: "started_at",
    header: "Started",
    cell: ({ row }) => <Time at={startOf(row.original)} />,
  }),
  column.display({
    id: "duration",
    header: "Duration",
    cell: ({ row }) => <Duration start={startOf(row.original)} end={row.original.ended_at} />,
  }),
  column.display({ id: "metrics", header: "Metrics", cell: ({ row }) => <Metrics run={row.original} /> }),
];

export function RunList() {
  const { page, chosen, ...filter } = route.useSearch();
  const ids = chosen?.split(",") ?? [];
  const navigate = route.useNavigate();
  const change = (part: Partial<typeof filter>) =>
    navigate({ search: { ...filter, chosen, ...part }, replace: true });
  const choose = (next: string[]) =>
    navigate({ search: { ...filter, page, chosen: next.join(",") || undefined }, replace: true });
  const narrowed = filter.project || filter.experiment || filter.filter || filter.deleted;
  return (
    <>
      <PageHeader title="Runs" />
      <Group mb="md">
        <Filter
          label="Experiment"
          value={filter.experiment ?? ""}
          onChange={(experiment) => change({ experiment: experiment || undefined })}
        />
        <Filter
          label="Filter: metrics.acc > 0.9"
          value={filter.filter ?? ""}
          onChange={(text) => change({ filter: text.trim() || undefined })}
        />
        <Filter
          label="Sort: metrics.acc desc"
          value={filter.sort ?? ""}
          onChange={(text) => change({ sort: text.trim() || undefined })}
        />
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        <Switch
          label="Bin"
          checked={!!filter.deleted}
          onChange={(event) => change({ deleted: event.currentTarget.checked || undefined })}
        />
      </Group>
      <Pages
        list={`runs ${JSON.stringify(filter)}`}
        query={runPages(filter)}
        page={page}
        onTurn={(number) => navigate({ search: { ...filter, chosen, page: number } })}
        inOrder={!filter.sort}
        empty={narrowed ? <Text>No matching runs.</Text> : <NoRuns />}
      >
        {(runs) => (
          <ChosenRuns value={{ ids, project: filter.project ?? projectOf(runs, ids), onChange: choose }}>
            <ChosenBar />
            <Paper withBorder>
              <DataTable label="Runs" rows={runs} columns={COLUMNS} rowId={(run) => run.id} />
            </Paper>
          </ChosenRuns>
        )}
      </Pages>
    </>
  );
}

function projectOf(runs: readonly Run[], ids: readonly string[]): string | undefined {
  return runs.find((run) => ids.includes(run.id))?.project;
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
      sentence="No runs yet. Every job records one; scripts and notebooks start their own with millpond.init()."
      command={"python -c \"import millpond; millpond.init(); millpond.log_metric('loss', 0.25, step=1)\""}
    />
  );
}
