import { Button, Group, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconLayersIntersect, IconPlus } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemberProjects } from "../../api/session";
import type { Workspace } from "../../api/shapes";
import { workspacesQuery } from "../../api/workspaces";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { formatBytes } from "../../lib/quantity";
import { BinnedActions } from "./parts/BinnedActions";
import { NewWorkspace } from "./parts/NewWorkspace";
import { OpenButton } from "./parts/OpenButton";

const route = getRouteApi("/in/workspaces");
const column = createColumnHelper<Workspace>();

export function WorkspaceList() {
  const { project, deleted = false } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({
    ...workspacesQuery({ project, deleted }),
    placeholderData: keepPreviousData,
  });
  const mayCreate = useMemberProjects().length > 0;
  const [opened, dialog] = useDisclosure(false);
  useTopic("workspaces");
  return (
    <>
      <PageHeader
        title={deleted ? "Workspaces in the bin" : "Workspaces"}
        below={
          <Text c="dimmed">Writable folders next to the compute, with snapshots and instant clones.</Text>
        }
        actions={
          mayCreate && (
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
              New workspace
            </Button>
          )
        }
      />
      <Group mb="md" justify="space-between">
        <ProjectSelect
          value={project}
          onChange={(chosen) =>
            void navigate({ search: { project: chosen, deleted: deleted || undefined }, replace: true })
          }
        />
        <TextLink to="/workspaces" search={{ project, deleted: deleted ? undefined : true }} size="sm">
          {deleted ? "Back to workspaces" : "Bin"}
        </TextLink>
      </Group>
      <Paged result={result} empty={deleted ? <Text>The bin is empty.</Text> : <NoWorkspaces />}>
        {(workspaces) => (
          <Paper withBorder>
            <DataTable
              label="Workspaces"
              rows={workspaces}
              columns={shownColumns(project, deleted)}
              rowId={(workspace) => workspace.id}
              minWidth={900}
            />
          </Paper>
        )}
      </Paged>
      {opened && <NewWorkspace project={project} onClose={dialog.close} />}
    </>
  );
}

function NoWorkspaces() {
  return (
    <EmptyState
      docs="workspaces/"
      icon={IconLayersIntersect}
      sentence="No workspaces yet. Create one, empty or with the files of a dataset."
      command="mill workspace create project1 --size 20GB --from xray"
    />
  );
}

function shownColumns(project: string | undefined, deleted: boolean) {
  return [...COLUMNS.filter((one) => !project || one.header !== "Project"), deleted ? BINNED : OPEN];
}

const OPEN = column.display({
  id: "open",
  header: "",
  cell: ({ row }) => <OpenButton workspace={row.original} compact />,
});

const BINNED = column.display({
  id: "actions",
  header: "",
  cell: ({ row }) => <BinnedActions workspace={row.original} />,
});

const COLUMNS = [
  column.accessor("name", { header: "Workspace", cell: ({ row }) => <Name workspace={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor("state", {
    header: "State",
    cell: ({ row }) => (
      <>
        <Status state={row.original.state} />
        {row.original.problem && (
          <Text size="xs" c="dimmed" lineClamp={2}>
            {row.original.problem}
          </Text>
        )}
      </>
    ),
  }),
  column.accessor("owner", {
    header: "Owner",
    cell: ({ row }) => `${row.original.owner}${row.original.shared ? ", shared" : ""}`,
  }),
  column.accessor("volume", { header: "Volume" }),
  column.accessor("unique_bytes", { header: "Its own", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("shared_bytes", { header: "In common", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("size_bytes", { header: "Size", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("newest_snapshot_at", {
    header: "Snapshots",
    cell: ({ row: { original } }) => (
      <Text size="sm" component="div">
        {original.snapshots}
        {original.newest_snapshot_at && (
          <Text span size="xs" c="dimmed">
            {" "}
            <Time at={original.newest_snapshot_at} />
          </Text>
        )}
      </Text>
    ),
  }),
];

function Name({ workspace }: { workspace: Workspace }) {
  if (workspace.deleted_at) return <>{workspace.name}</>;
  return (
    <>
      <TextLink
        to="/projects/$project/workspaces/$workspace"
        params={{ project: workspace.project, workspace: workspace.name }}
        fw={600}
        size="sm"
      >
        {workspace.name}
      </TextLink>
      {workspace.source.written && (
        <Text size="xs" c="dimmed">
          from {workspace.source.written}
        </Text>
      )}
    </>
  );
}
