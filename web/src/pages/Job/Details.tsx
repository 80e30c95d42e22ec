import { Breadcrumbs, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { jobQuery, whyQuery } from "../../api/jobs";
import { isNotFound } from "../../api/problem";
import type { Job } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { useTopic } from "../../hooks/useLive";
import { MetricCharts } from "../Run/parts/MetricCharts";
import { RunValues } from "../Run/parts/RunValues";
import { Attempts } from "./parts/Attempts";
import { Events } from "./parts/Events";
import { JobActions } from "./parts/JobActions";
import { JobFacts } from "./parts/JobFacts";
import { LedgerBar } from "./parts/LedgerBar";
import { LogView } from "./parts/LogView";
import { RunAgainButton } from "./parts/NewJobButton";
import { Reach } from "./parts/Reach";
import { Reasons } from "./parts/Reasons";
import { ScoreTable } from "./parts/ScoreTable";
import { isFinished } from "./parts/states";
import { UsageCharts } from "./parts/UsageCharts";
import { WhyWaiting } from "./parts/WhyWaiting";

const route = getRouteApi("/in/projects/$project/jobs/$job");

export function JobDetails() {
  const place = route.useParams();
  const result = useQuery({
    ...jobQuery(place),
    // The ledger of a job under way grows without an event.
    refetchInterval: ({ state }) => (state.data && !isFinished(state.data.state) ? 10_000 : false),
  });
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return (
    <>
      <PageHeader
        title={result.data?.written ?? place.job}
        above={<Above project={place.project} />}
        below={result.data && <By job={result.data} />}
        actions={
          result.data && (
            <>
              <RunAgainButton job={result.data} />
              <JobActions job={result.data} />
            </>
          )
        }
      />
      <Loaded result={result}>{(job) => <JobRecord job={job} />}</Loaded>
    </>
  );
}

function JobRecord({ job }: { job: Job }) {
  const run = { project: job.project, run: job.run_id };
  useTopic(isFinished(job.state) ? null : `run:${job.run_id}`);
  return (
    <Stack gap="lg">
      {job.state === "queued" ? <WhyWaiting job={job} /> : <Reasons job={job} />}
      <JobFacts job={job} />
      <Reach job={job} />
      {job.placed_at && <PlacedBy job={job} />}
      <Attempts job={job} />
      <LedgerBar ledger={job.ledger} />
      <MetricCharts place={run} ended={isFinished(job.state)} />
      <section>
        <Title order={2} size="h4" mb="xs">
          Log
        </Title>
        <LogView key={job.id} job={job} />
      </section>
      <UsageCharts job={job} />
      <Events job={job} />
      <RunValues place={run} />
    </Stack>
  );
}

/** The places it could have had when it was placed, where there was a choice. */
function PlacedBy({ job }: { job: Job }) {
  const why = useQuery(whyQuery({ project: job.project, job: job.id })).data;
  return why ? <ScoreTable places={why.places} /> : null;
}

function Above({ project }: { project: string }) {
  return (
    <Breadcrumbs mb={4} fz="sm">
      <TextLink to="/jobs" size="sm">
        Jobs
      </TextLink>
      <TextLink to="/projects/$project" params={{ project }} search={{ tab: "jobs" }} size="sm">
        {project}
      </TextLink>
    </Breadcrumbs>
  );
}

function Progressing({ job }: { job: Job }) {
  if (job.progress === null || job.state !== "running") return null;
  return (
    <Text span ml="xs" size="sm">
      {Math.round(100 * job.progress)} %
    </Text>
  );
}

function By({ job }: { job: Job }) {
  return (
    <Group gap="xs" mt={4}>
      <Text>by {job.created_by}</Text>
      <div role="status" aria-live="polite">
        <Status state={job.state} size="lg" />
        <Progressing job={job} />
      </div>
      {job.deleted_at && <Text c="dimmed">in bin</Text>}
    </Group>
  );
}
