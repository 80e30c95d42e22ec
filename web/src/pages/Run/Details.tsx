import { Breadcrumbs, Group, Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import { runQuery } from "../../api/runs";
import type { Run } from "../../api/shapes";
import { Duration } from "../../components/Duration";
import { Facts } from "../../components/Facts";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { useTopic } from "../../hooks/useLive";
import { MetricCharts } from "./parts/MetricCharts";
import { RunActions } from "./parts/RunActions";
import { RunValues } from "./parts/RunValues";
import { startOf } from "./parts/start";

const route = getRouteApi("/in/projects/$project/runs/$run");

export function RunDetails() {
  const place = route.useParams();
  const result = useQuery(runQuery(place));
  useTopic(result.data?.state === "running" ? `run:${place.run}` : null);
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  const run = result.data;
  return (
    <>
      <PageHeader
        title={run?.name ?? place.run}
        above={
          <Breadcrumbs mb={4} fz="sm">
            <TextLink to="/runs" size="sm">
              Runs
            </TextLink>
            <TextLink to="/projects/$project" params={{ project: place.project }} size="sm">
              {place.project}
            </TextLink>
          </Breadcrumbs>
        }
        below={
          run && (
            <Group gap="xs" mt={4}>
              <Text>by {run.created_by}</Text>
              <Status state={run.job_state ?? run.state} size="lg" />
            </Group>
          )
        }
        actions={run && !run.job && <RunActions run={run} />}
      />
      <Loaded result={result}>
        {(found) => (
          <Stack gap="lg">
            <RunFacts run={found} />
            <MetricCharts place={place} ended={found.ended_at !== null} />
            <RunValues place={place} />
          </Stack>
        )}
      </Loaded>
    </>
  );
}

function RunFacts({ run }: { run: Run }) {
  const job = run.job && (
    <TextLink to="/projects/$project/jobs/$job" params={{ project: run.project, job: run.job }} size="sm">
      {run.name}
    </TextLink>
  );
  return (
    <Paper withBorder p="md">
      <Facts
        facts={[
          { name: "Experiment", value: run.experiment },
          { name: "Duration", value: <Duration start={startOf(run)} end={run.ended_at} /> },
          { name: "Start", value: <Time at={startOf(run)} /> },
          { name: "End", value: <Time at={run.ended_at} /> },
          { name: "Job", value: job || "none (started by a script)" },
          { name: "Id", value: <span className="mono">{run.id}</span> },
        ]}
      />
    </Paper>
  );
}
