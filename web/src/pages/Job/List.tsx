import { Stack, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { allJobs, jobPageQuery } from "../../api/jobs";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { PageTurner } from "../../components/PageTurner";
import { useTrail } from "../../hooks/useTrail";
import { JobFilters } from "./parts/JobFilters";
import { JobTable } from "./parts/JobTable";
import { NewJobButton } from "./parts/NewJobButton";

const route = getRouteApi("/in/jobs");

export function JobList() {
  const { page, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const list = JSON.stringify(filter);
  const trail = useTrail(`jobs ${list}`, page);
  const result = useQuery({ ...jobPageQuery(filter, trail.cursor), placeholderData: keepPreviousData });
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
      <Loaded result={result}>
        {({ items, next }) =>
          items.length === 0 && trail.number === 1 ? (
            narrowed || deleted ? (
              <Text>No matching jobs.</Text>
            ) : (
              <NoJobs />
            )
          ) : (
            <Stack>
              <JobTable
                key={list}
                jobs={items}
                label={deleted ? "Jobs in the bin" : "Jobs"}
                all={next || trail.number > 1 ? () => allJobs(filter) : undefined}
              />
              <PageTurner
                trail={trail}
                next={next}
                onTurn={(number) => navigate({ search: { ...filter, page: number } })}
              />
            </Stack>
          )
        }
      </Loaded>
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
      sentence="No jobs yet. A job runs a command next to its data."
      action={<NewJobButton />}
      command="mill submit --data my-data -- python train.py"
    />
  );
}
