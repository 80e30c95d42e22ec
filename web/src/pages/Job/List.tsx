import { Group, Select, Switch, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { jobsQuery } from "../../api/jobs";
import type { JobState } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { JobTable } from "./parts/JobTable";
import { NewJobButton } from "./parts/NewJobButton";
import { JOB_STATES } from "./parts/states";

const route = getRouteApi("/in/jobs");

export function JobList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({ ...jobsQuery(filter), placeholderData: keepPreviousData });
  const change = (part: typeof filter) => navigate({ search: { ...filter, ...part }, replace: true });
  const narrowed = filter.state || filter.project || filter.mine;
  return (
    <>
      <PageHeader
        title={filter.deleted ? "Bin" : "Jobs"}
        below={filter.deleted && <BinNote />}
        actions={<NewJobButton project={filter.project} />}
      />
      <Group mb="md">
        <Select
          aria-label="State"
          placeholder="Any state"
          data={JOB_STATES}
          value={filter.state ?? null}
          onChange={(state) => change({ state: (state as JobState | null) ?? undefined })}
          clearable
          clearButtonProps={{ "aria-label": "Any state" }}
          data-filter
          w={160}
        />
        <ProjectSelect value={filter.project} onChange={(project) => change({ project })} />
        <Switch
          label="Mine"
          checked={!!filter.mine}
          onChange={(event) => change({ mine: event.currentTarget.checked || undefined })}
        />
        <Switch
          label="Bin"
          checked={!!filter.deleted}
          onChange={(event) => change({ deleted: event.currentTarget.checked || undefined })}
        />
      </Group>
      <Paged result={result} empty={narrowed || filter.deleted ? <Text>No job matches.</Text> : <NoJobs />}>
        {(jobs) => <JobTable jobs={jobs} label={filter.deleted ? "Jobs in the bin" : "Jobs"} />}
      </Paged>
    </>
  );
}

function BinNote() {
  return <Text c="dimmed">Deleted jobs and their runs stay here for 30 days.</Text>;
}

function NoJobs() {
  return (
    <EmptyState
      icon={IconPlayerPlay}
      sentence="A job is a command that runs beside its data; nothing was submitted yet."
      action={<NewJobButton />}
      command="mill submit --data my-data -- python train.py"
    />
  );
}
