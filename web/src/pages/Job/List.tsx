import { Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { jobsQuery } from "../../api/jobs";
import { EmptyState } from "../../components/EmptyState";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { JobFilters } from "./parts/JobFilters";
import { JobTable } from "./parts/JobTable";
import { NewJobButton } from "./parts/NewJobButton";

const route = getRouteApi("/in/jobs");

export function JobList() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const result = useInfiniteQuery({ ...jobsQuery(filter), placeholderData: keepPreviousData });
  const change = (part: typeof filter) => navigate({ search: { ...filter, ...part }, replace: true });
  const { deleted, ...narrowing } = filter;
  const narrowed = Object.values(narrowing).some(Boolean);
  return (
    <>
      <PageHeader
        title={deleted ? "Bin" : "Jobs"}
        below={deleted && <BinNote />}
        actions={<NewJobButton project={filter.project} />}
      />
      <JobFilters filter={filter} onChange={change} />
      <Paged result={result} empty={narrowed || deleted ? <Text>No job matches.</Text> : <NoJobs />}>
        {(jobs) => <JobTable jobs={jobs} label={deleted ? "Jobs in the bin" : "Jobs"} />}
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
