import { Badge, Group, Paper, Switch, Text } from "@mantine/core";
import { IconCube } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { type ModelFilter, modelsQuery } from "../../api/models";
import type { Model } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { ModelLink } from "../../components/ModelLink";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { formatNumber } from "../../lib/metric";
import { plural } from "../../lib/quantity";
import { ModelBin } from "./parts/ModelBin";
import { metricNames } from "./parts/metricNames";
import { StageBadge } from "./parts/StageBadge";

const route = getRouteApi("/in/models");
const column = createColumnHelper<Model>();
const SHOWN_METRICS = 3;

export function ModelList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  useTopic("models");
  const change = (part: ModelFilter) => void navigate({ search: { ...filter, ...part }, replace: true });
  return (
    <>
      <PageHeader
        title={filter.deleted ? "Deleted models" : "Models"}
        below={
          <Text c="dimmed">
            {filter.deleted
              ? "Deleted models stay here for 30 days."
              : "Trained models with numbered versions, traced to the run, code and data that made them."}
          </Text>
        }
      />
      <Group mb="md">
        {!filter.deleted && (
          <Filter
            label="Search models"
            value={filter.search ?? ""}
            onChange={(search) => change({ search: search || undefined })}
          />
        )}
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        <Switch
          label="Bin"
          checked={!!filter.deleted}
          onChange={(event) => change({ deleted: event.currentTarget.checked || undefined })}
        />
      </Group>
      {filter.deleted ? <ModelBin project={filter.project} /> : <Models filter={filter} />}
    </>
  );
}

function Models({ filter }: { filter: ModelFilter }) {
  const result = useInfiniteQuery({ ...modelsQuery(filter), placeholderData: keepPreviousData });
  return (
    <Paged result={result} empty={filter.search ? <Text>No matching models.</Text> : <NoModels />}>
      {(models) => (
        <Paper withBorder>
          <DataTable
            label="Models"
            rows={models}
            columns={filter.project ? COLUMNS.filter((one) => one.header !== "Project") : COLUMNS}
            rowId={(model) => model.id}
            minWidth={860}
          />
        </Paper>
      )}
    </Paged>
  );
}

function NoModels() {
  return (
    <EmptyState
      docs="models/"
      icon={IconCube}
      sentence="No models yet. Register a version from the artifacts of a run, on the run's page, by command or in Python."
      command={
        'mill model register chest-xray --from RUN:model\nmillpond.register_model("chest-xray", "RUN:model")'
      }
    />
  );
}

const COLUMNS = [
  column.accessor("name", { header: "Model", cell: ({ row }) => <Name model={row.original} /> }),
  column.accessor("project", { header: "Project" }),
  column.accessor((model) => model.newest?.version ?? 0, {
    id: "newest",
    header: "Newest version",
    cell: ({ row }) => <Newest model={row.original} />,
  }),
  column.display({
    id: "aliases",
    header: "Aliases",
    cell: ({ row }) => <AliasList model={row.original} />,
  }),
  column.accessor((model) => model.newest?.stage ?? "", {
    id: "stage",
    header: "Stage",
    cell: ({ row }) => (row.original.newest ? <StageBadge stage={row.original.newest.stage} /> : "–"),
  }),
  column.display({ id: "metrics", header: "Metrics", cell: ({ row }) => <Metrics model={row.original} /> }),
  column.accessor("changed_at", { header: "Updated", cell: ({ getValue }) => <Time at={getValue()} /> }),
];

function Name({ model }: { model: Model }) {
  return (
    <>
      <TextLink
        to="/projects/$project/models/$model"
        params={{ project: model.project, model: model.name }}
        fw={600}
        size="sm"
        style={{ overflowWrap: "anywhere" }}
      >
        {model.name}
      </TextLink>
      {model.description && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {model.description}
        </Text>
      )}
    </>
  );
}

function Newest({ model }: { model: Model }) {
  if (!model.newest) return <>none yet</>;
  return (
    <>
      <ModelLink project={model.project} model={model.name} version={model.newest.version}>
        Version {model.newest.version}
      </ModelLink>
      <Text size="xs" c="dimmed">
        {plural(model.versions, "version")}
      </Text>
    </>
  );
}

function AliasList({ model }: { model: Model }) {
  const aliases = Object.entries(model.aliases);
  if (aliases.length === 0) return <>–</>;
  return (
    <Group gap={4}>
      {aliases.map(([alias, version]) => (
        <Badge key={alias} variant="light" tt="none">
          {alias}: {version}
        </Badge>
      ))}
    </Group>
  );
}

function Metrics({ model }: { model: Model }) {
  const newest = model.newest;
  const names = newest ? metricNames([newest]) : [];
  if (!newest || names.length === 0) return <>–</>;
  const rest = names.length - SHOWN_METRICS;
  return (
    <Text size="sm" component="div">
      {names.slice(0, SHOWN_METRICS).map((name) => (
        <div key={name}>
          {name} <b>{formatNumber(newest.metrics[name])}</b>
        </div>
      ))}
      {rest > 0 && (
        <Text size="xs" c="dimmed">
          and {rest} more
        </Text>
      )}
    </Text>
  );
}
