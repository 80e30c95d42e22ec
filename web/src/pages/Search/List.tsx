import { Group, Paper, Select, Text } from "@mantine/core";
import { IconPlus, IconZoomScan } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { searchPages } from "../../api/searches";
import type { Search, SearchState } from "../../api/shapes";
import { DataTable } from "../../components/DataTable";
import { Duration } from "../../components/Duration";
import { EmptyState } from "../../components/EmptyState";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { formatMetric } from "../../lib/metric";
import { NewSearchButton } from "./parts/NewSearch";
import { TrialCounts } from "./parts/TrialCounts";
import { SEARCH_STATES } from "./tabs";

const route = getRouteApi("/in/searches");
const column = createColumnHelper<Search>();

export function SearchList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  useTopic("searches");
  const change = (part: typeof filter) =>
    void navigate({ search: { ...filter, page: undefined, ...part }, replace: true });
  const start = (
    <NewSearchButton project={filter.project} icon={<IconPlus size={16} aria-hidden />}>
      New search
    </NewSearchButton>
  );
  return (
    <>
      <PageHeader
        title="Searches"
        below={<Text c="dimmed">Hyperparameter searches. Every trial is a job and a run.</Text>}
        actions={start}
      />
      <Group mb="md">
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        <Select
          aria-label="State"
          placeholder="Any state"
          data={[...SEARCH_STATES]}
          value={filter.state ?? null}
          onChange={(state) => change({ state: (state as SearchState | null) ?? undefined })}
          clearable
          clearButtonProps={{ "aria-label": "Any state" }}
          w={160}
        />
      </Group>
      <Pages
        list={JSON.stringify([filter.project, filter.state])}
        query={searchPages(filter)}
        page={filter.page}
        onTurn={(page) => change({ page })}
        empty={filter.state ? <Text>No matching searches.</Text> : <NoSearches />}
      >
        {(searches) => (
          <Paper withBorder>
            <DataTable
              label="Searches"
              rows={searches}
              columns={filter.project ? COLUMNS.filter((one) => one.header !== "Project") : COLUMNS}
              rowId={(search) => search.id}
              minWidth={860}
            />
          </Paper>
        )}
      </Pages>
    </>
  );
}

function NoSearches() {
  return (
    <EmptyState
      docs="searches/"
      icon={IconZoomScan}
      sentence="No searches yet. A search runs one job many times with different parameters and looks for the best."
      command={"mill submit sweep --grid -- python train.py --lr 0.1,0.01\nmill search run search.yaml"}
    />
  );
}

const COLUMNS = [
  column.accessor("name", {
    header: "Search",
    cell: ({ row: { original: search } }) => (
      <>
        <TextLink
          to="/projects/$project/searches/$search"
          params={{ project: search.project, search: search.id }}
          fw={600}
          size="sm"
        >
          {search.name}
        </TextLink>
        <Text size="xs" c="dimmed" className="mono">
          {search.id}
        </Text>
      </>
    ),
  }),
  column.accessor("project", { header: "Project" }),
  column.accessor("state", { header: "State", cell: ({ getValue }) => <Status state={getValue()} /> }),
  column.accessor("method", { header: "Method" }),
  column.accessor("trials", { header: "Trials", cell: ({ row }) => <TrialCounts search={row.original} /> }),
  column.display({ id: "best", header: "Best", cell: ({ row }) => <Best search={row.original} /> }),
  column.accessor("created_at", {
    header: "Started",
    cell: ({ row: { original: search } }) => (
      <>
        <Time at={search.created_at} /> by {search.created_by}
      </>
    ),
  }),
  column.display({
    id: "duration",
    header: "Duration",
    cell: ({ row: { original: search } }) => <Duration start={search.created_at} end={search.ended_at} />,
  }),
];

function Best({ search }: { search: Search }) {
  const [objective] = search.objectives;
  const [best] = search.best;
  if (!objective) return <>no objective</>;
  if (search.objectives.length > 1) return <>{search.best.length} on the front</>;
  if (best?.values[0] === undefined) return <>–</>;
  return (
    <>
      {objective.metric} <b>{formatMetric(best.values[0])}</b>
    </>
  );
}
