import { Button, Group, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconShare2 } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { clustersQuery } from "../../api/clusters";
import type { Cluster } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { NewCluster } from "./parts/NewCluster";

const route = getRouteApi("/in/clusters");
const column = createColumnHelper<Cluster>();

export function ClusterList() {
  const { project } = route.useSearch();
  const navigate = route.useNavigate();
  const [opened, dialog] = useDisclosure(false);
  const result = useInfiniteQuery({ ...clustersQuery({ project }), placeholderData: keepPreviousData });
  useTopic("clusters");
  return (
    <>
      <PageHeader
        title="Clusters"
        below={<Text c="dimmed">Dask and Ray beside the data: schedulers and workers that jobs use.</Text>}
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
            New cluster
          </Button>
        }
      />
      <Group mb="md">
        <ProjectSelect
          value={project}
          onChange={(chosen) => void navigate({ search: { project: chosen }, replace: true })}
        />
      </Group>
      <Paged result={result} empty={<NoClusters />}>
        {(clusters) => (
          <Paper withBorder>
            <DataTable
              label="Clusters"
              rows={clusters}
              columns={project ? COLUMNS.filter((one) => one.header !== "Project") : COLUMNS}
              rowId={(cluster) => cluster.id}
              minWidth={820}
            />
          </Paper>
        )}
      </Paged>
      {opened && <NewCluster project={project} onClose={dialog.close} />}
    </>
  );
}

function NoClusters() {
  return (
    <EmptyState
      docs="clusters/"
      icon={IconShare2}
      sentence="No clusters yet. Create one here, or by command with the packages it needs."
      command="mill cluster create prep --kind dask --workers 3 --env requirements.txt"
    />
  );
}

const COLUMNS = [
  column.accessor("name", {
    header: "Cluster",
    cell: ({ row }) => (
      <TextLink
        to="/projects/$project/clusters/$cluster"
        params={{ project: row.original.project, cluster: row.original.name }}
        fw={600}
        size="sm"
      >
        {row.original.name}
      </TextLink>
    ),
  }),
  column.accessor("project", { header: "Project" }),
  column.accessor("kind", { header: "Kind", cell: ({ row }) => kindOf(row.original) }),
  column.accessor("state", {
    header: "State",
    cell: ({ row }) => (
      <>
        <Status state={row.original.state} />
        {row.original.state !== "ready" && (
          <Text size="xs" c="dimmed" lineClamp={3}>
            {row.original.reasons.join(" ")}
          </Text>
        )}
      </>
    ),
  }),
  column.accessor("workers_ready", {
    header: "Workers ready",
    cell: ({ row }) => `${row.original.workers_ready} of ${row.original.wanted}`,
  }),
  column.accessor("tasks", { header: "Tasks", cell: ({ getValue }) => getValue() ?? "–" }),
  column.accessor("site", { header: "Site" }),
  column.accessor("created_at", { header: "Created", cell: ({ getValue }) => <Time at={getValue()} /> }),
];

export function kindOf(cluster: Cluster): string {
  const name = cluster.kind === "dask" ? "Dask" : "Ray";
  return cluster.version ? `${name} ${cluster.version}` : name;
}
