import { Badge, Group, Paper, Text } from "@mantine/core";
import { IconPlugConnected } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { endpointsQuery } from "../../api/endpoints";
import type { Endpoint } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";

const route = getRouteApi("/in/endpoints");
const column = createColumnHelper<Endpoint>();

export function EndpointList() {
  const { project } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({ ...endpointsQuery({ project }), placeholderData: keepPreviousData });
  useTopic("endpoints");
  return (
    <>
      <PageHeader
        title="Endpoints"
        below={<Text c="dimmed">Models that answer requests, by replicas next to their files.</Text>}
      />
      <Group mb="md">
        <ProjectSelect
          value={project}
          onChange={(chosen) => void navigate({ search: { project: chosen }, replace: true })}
        />
      </Group>
      <Paged result={result} empty={<NoEndpoints />}>
        {(endpoints) => (
          <Paper withBorder>
            <DataTable
              label="Endpoints"
              rows={endpoints}
              columns={project ? COLUMNS.filter((one) => one.header !== "Project") : COLUMNS}
              rowId={(endpoint) => endpoint.id}
              minWidth={860}
            />
          </Paper>
        )}
      </Paged>
    </>
  );
}

function NoEndpoints() {
  return (
    <EmptyState
      docs="endpoints/"
      icon={IconPlugConnected}
      sentence="No endpoints yet. Deploy a version of a model, on its page or by command."
      command="mill endpoint create xray --model chest-xray@3 --site berlin"
    />
  );
}

const COLUMNS = [
  column.accessor("name", { header: "Endpoint", cell: ({ row }) => <Name endpoint={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor("state", {
    header: "State",
    cell: ({ row }) => (
      <>
        <Status state={row.original.state} />
        {row.original.state !== "ready" && (
          <Text size="xs" c="dimmed" lineClamp={3} maw={420}>
            {row.original.failure ?? row.original.reasons.join(" ")}
          </Text>
        )}
      </>
    ),
  }),
  column.display({
    id: "versions",
    header: "Versions",
    cell: ({ row }) => <Shares endpoint={row.original} />,
  }),
  column.accessor((endpoint) => endpoint.sites.reduce((sum, site) => sum + site.ready, 0), {
    id: "replicas",
    header: "Replicas ready",
    cell: ({ row }) => <Replicas endpoint={row.original} />,
  }),
  column.accessor("changed_at", { header: "Changed", cell: ({ getValue }) => <Time at={getValue()} /> }),
];

function Name({ endpoint }: { endpoint: Endpoint }) {
  return (
    <TextLink
      to="/projects/$project/endpoints/$endpoint"
      params={{ project: endpoint.project, endpoint: endpoint.name }}
      fw={600}
      size="sm"
    >
      {endpoint.name}
    </TextLink>
  );
}

function Shares({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Group gap={4}>
      {endpoint.versions.map(({ model, version, weight }) => (
        <Badge key={`${model}@${version}`} variant="light" tt="none">
          {model}@{version}: {weight} %
        </Badge>
      ))}
    </Group>
  );
}

function Replicas({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Text size="sm" component="div">
      {endpoint.sites.map(({ site, ready, wanted }) => (
        <div key={site}>
          {ready} of {wanted}{" "}
          <Text span size="xs" c="dimmed">
            {site}
          </Text>
        </div>
      ))}
    </Text>
  );
}
