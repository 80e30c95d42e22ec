import { Button, Group, Select, Switch, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDatabase, IconPlus } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type DatasetFilter, datasetsQuery } from "../../api/datasets";
import { useMemberProjects } from "../../api/session";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { WaitingCards } from "../../components/Waiting";
import { DatasetBin } from "./parts/DatasetBin";
import { DatasetCards } from "./parts/DatasetCards";
import { NewDataset } from "./parts/NewDataset";
import { Totals } from "./parts/Totals";

const route = getRouteApi("/in/datasets");

const KINDS = [
  { value: "data", label: "Made by people" },
  { value: "output", label: "Outputs of jobs" },
  { value: "code", label: "Code of jobs" },
  { value: "artifact", label: "Artifacts of runs" },
];

const JOB_KINDS = ["output", "code", "artifact"] as const;

export function DatasetList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const [creating, dialog] = useDisclosure(false);
  const mayCreate = useMemberProjects().length > 0;
  const create = mayCreate && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New Dataset
    </Button>
  );
  const change = (part: typeof filter) => navigate({ search: { ...filter, ...part }, replace: true });
  return (
    <>
      <PageHeader
        title={filter.deleted ? "Bin" : "Datasets"}
        below={filter.deleted ? <BinNote /> : <Totals project={filter.project} />}
        actions={create}
      />
      <Group mb="md">
        {!filter.deleted && (
          <Filter
            label="Search datasets"
            value={filter.search ?? ""}
            onChange={(search) => change({ search: search || undefined })}
          />
        )}
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        {!filter.deleted && (
          <Select
            aria-label="Kind of data"
            data={KINDS}
            value={filter.kind ?? "data"}
            onChange={(kind) => change({ kind: JOB_KINDS.find((known) => known === kind) })}
            allowDeselect={false}
            w={190}
          />
        )}
        <Switch
          label="Bin"
          checked={!!filter.deleted}
          onChange={(event) => change({ deleted: event.currentTarget.checked || undefined, kind: undefined })}
        />
      </Group>
      {filter.deleted ? <DatasetBin project={filter.project} /> : <Cards filter={filter} create={create} />}
      {creating && <NewDataset onClose={dialog.close} project={filter.project} />}
    </>
  );
}

function Cards({ filter, create }: { filter: DatasetFilter; create: ReactNode }) {
  const result = useInfiniteQuery({ ...datasetsQuery(filter), placeholderData: keepPreviousData });
  return (
    <Paged
      result={result}
      waiting={<WaitingCards cards={6} />}
      empty={
        filter.search || filter.project || filter.kind ? (
          <Text>No matching datasets.</Text>
        ) : (
          <EmptyState
            docs="quickstart/"
            icon={IconDatabase}
            sentence="No datasets yet. A dataset is a versioned folder; every sync adds a commit."
            action={create}
            command="mill data init my-data && mill data sync"
          />
        )
      }
    >
      {(datasets) => <DatasetCards datasets={datasets} />}
    </Paged>
  );
}

function BinNote() {
  return <Text c="dimmed">Deleted datasets stay here for 30 days.</Text>;
}
