import { Button, Group, Skeleton, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDatabase, IconPlus } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { datasetsQuery, datasetTotalsQuery } from "../../api/datasets";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { WaitingCards } from "../../components/Waiting";
import { DatasetCards } from "./parts/DatasetCards";
import { NewDataset } from "./parts/NewDataset";
import { totalsLine } from "./parts/totals";

const route = getRouteApi("/in/datasets");

export function DatasetList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({ ...datasetsQuery(filter), placeholderData: keepPreviousData });
  const [creating, dialog] = useDisclosure(false);
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New Dataset
    </Button>
  );
  const change = (part: typeof filter) => navigate({ search: { ...filter, ...part }, replace: true });
  return (
    <>
      <PageHeader title="Datasets" below={<Totals />} actions={create} />
      <Group mb="md">
        <Filter
          label="Search datasets"
          value={filter.search ?? ""}
          onChange={(search) => change({ search: search || undefined })}
        />
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
      </Group>
      <Paged
        result={result}
        waiting={<WaitingCards cards={6} />}
        empty={
          filter.search || filter.project ? (
            <Text>No dataset matches.</Text>
          ) : (
            <EmptyState
              icon={IconDatabase}
              sentence="A dataset is a directory with a history: every sync is a commit that can be read back for ever."
              action={create}
              command="mill data init my-data && mill data sync"
            />
          )
        }
      >
        {(datasets) => <DatasetCards datasets={datasets} />}
      </Paged>
      {creating && <NewDataset onClose={dialog.close} project={filter.project} />}
    </>
  );
}

function Totals() {
  const { data } = useQuery(datasetTotalsQuery);
  if (!data) return <Skeleton height={20} width={420} maw="100%" mt={4} />;
  return (
    <Text c="dimmed" data-testid="totals">
      {totalsLine(data)}
    </Text>
  );
}
