import { Box, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { allJobs, type JobFilter, jobPages } from "../../api/jobs";
import { CommandLine } from "../../components/Copyable";
import { EmptyState } from "../../components/EmptyState";
import { PageHeader } from "../../components/PageHeader";
import { Pages } from "../../components/Pages";
import { shellQuote } from "../../lib/names";
import { JobFilters } from "./parts/JobFilters";
import { JobTable } from "./parts/JobTable";
import { NewJobButton } from "./parts/NewJobButton";

const route = getRouteApi("/in/jobs");

export function JobList() {
  const { page, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const list = JSON.stringify(filter);
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
      <Pages
        list={`jobs ${list}`}
        query={jobPages(filter)}
        page={page}
        onTurn={(number) => navigate({ search: { ...filter, page: number } })}
        empty={narrowed || deleted ? <Text>No matching jobs.</Text> : <NoJobs />}
      >
        {(jobs, whole) => (
          <JobTable
            key={list}
            jobs={jobs}
            label={deleted ? "Jobs in the bin" : "Jobs"}
            all={whole ? undefined : () => allJobs(filter)}
          />
        )}
      </Pages>
      <Box mt="md">
        <CommandLine command={commandFor(filter)} />
      </Box>
    </>
  );
}

/** The command that lists the same, as far as it can be narrowed so. */
function commandFor({ project, state, kind, user, mine, compute, deleted }: JobFilter): string {
  return [
    "mill list",
    project ? `-p ${shellQuote(project)}` : "-A",
    state && `--state ${state}`,
    kind && `--kind ${kind}`,
    user && `--user ${shellQuote(user)}`,
    mine && "--mine",
    compute && `--compute ${shellQuote(compute)}`,
    deleted && "--deleted",
  ]
    .filter(Boolean)
    .join(" ");
}

function BinNote() {
  return <Text c="dimmed">Deleted jobs and their runs stay here for 30 days.</Text>;
}

function NoJobs() {
  return (
    <EmptyState
      docs="jobs/"
      icon={IconPlayerPlay}
      sentence="No jobs yet. A job runs a command next to its data."
      action={<NewJobButton />}
      command="mill submit --data my-data -- python train.py"
    />
  );
}
