import { Button, Group, Paper, Stack, Text } from "@mantine/core";
import { IconPlus, IconRoute } from "@tabler/icons-react";
import { useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { flowsQuery } from "../../api/flows";
import { projectsQuery } from "../../api/projects";
import type { Flow } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { Duration } from "../../components/Duration";
import { EmptyState } from "../../components/EmptyState";
import { ErrorNotice } from "../../components/ErrorNotice";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { WaitingRows } from "../../components/Waiting";

const route = getRouteApi("/in/flows");
const column = createColumnHelper<Flow>();

const COLUMNS = [
  column.accessor("name", { header: "Flow", cell: ({ row }) => <Name flow={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor("steps", { header: "Steps" }),
  column.accessor("version", { header: "Version" }),
  column.accessor((flow) => flow.newest_run?.created_at ?? "", {
    id: "run",
    header: "Newest run",
    cell: ({ row }) => <NewestRun flow={row.original} />,
  }),
  column.accessor("saved_at", {
    header: "Saved",
    cell: ({ row }) => (
      <>
        <Time at={row.original.saved_at} /> by {row.original.saved_by}
      </>
    ),
  }),
];

export function FlowList() {
  const { project } = route.useSearch();
  const projects = useQuery(projectsQuery).data?.items.map((one) => one.name) ?? [];
  const asked = project ? [project] : projects;
  const results = useQueries({ queries: asked.map((name) => flowsQuery(name)) });
  const flows = results.flatMap((result) => result.data?.items ?? []);
  const failed = results.find((result) => result.isError);
  return (
    <>
      <PageHeader
        title="Flows"
        below={
          <Text c="dimmed">
            Pipelines of steps, each where its data is. Drawn here or written as YAML or Python.
          </Text>
        }
        actions={<NewFlow project={project ?? projects[0]} />}
      />
      {failed && <ErrorNotice error={failed.error} />}
      {results.some((result) => result.isPending) && flows.length === 0 ? (
        <WaitingRows />
      ) : flows.length === 0 ? (
        <EmptyState
          docs="flows/"
          icon={IconRoute}
          sentence="No flows yet. A flow connects datasets to steps, runs each where its data is and remembers what was made."
          action={<NewFlow project={project ?? projects[0]} />}
        />
      ) : (
        <Stack>
          <Paper withBorder>
            <DataTable
              label="Flows"
              rows={flows}
              columns={project ? COLUMNS.filter((one) => one.header !== "Project") : COLUMNS}
              rowId={(flow) => `${flow.project}/${flow.name}`}
              minWidth={760}
            />
          </Paper>
        </Stack>
      )}
    </>
  );
}

function NewFlow({ project }: { project?: string }) {
  if (!project) return null;
  return (
    <Button
      leftSection={<IconPlus size={16} />}
      renderRoot={(props) => <Link {...props} to="/projects/$project/flows-new" params={{ project }} />}
    >
      New flow
    </Button>
  );
}

function Name({ flow }: { flow: Flow }) {
  return (
    <>
      <TextLink
        to="/projects/$project/flows/$flow"
        params={{ project: flow.project, flow: flow.name }}
        fw={600}
        size="sm"
      >
        {flow.name}
      </TextLink>
      {flow.description && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {flow.description}
        </Text>
      )}
    </>
  );
}

function NewestRun({ flow }: { flow: Flow }) {
  const run = flow.newest_run;
  if (!run) return <>–</>;
  return (
    <Group gap="xs" wrap="nowrap">
      <Status state={run.state as never} />
      <TextLink
        to="/projects/$project/flow-runs/$run"
        params={{ project: flow.project, run: run.id }}
        size="sm"
      >
        #{run.number}
      </TextLink>
      <Duration start={run.started_at} end={run.ended_at} />
    </Group>
  );
}
