import { Alert, Code, Group, Progress, SimpleGrid, Stack, Title } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { datasetTotalsQuery } from "../../api/datasets";
import { homeQuery } from "../../api/home";
import { useSession } from "../../api/session";
import type { Home as HomeShape } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Tile } from "../../components/Tile";
import { WaitingCards } from "../../components/Waiting";
import { formatBytes, formatGpus, formatSeconds, formatUsed } from "../../lib/quantity";
import { Totals } from "../Dataset/parts/Totals";
import { JobTable } from "../Job/parts/JobTable";
import { Activity } from "./Activity";
import { Checklist } from "./Checklist";
import { IdleGpus } from "./IdleGpus";

export function Home() {
  const home = useQuery(homeQuery);
  return (
    <>
      <PageHeader title="Home" below={<Totals />} />
      <Loaded result={home} waiting={<WaitingCards cards={4} height={96} />}>
        {(data) => (
          <Stack gap="lg">
            <Numbers home={data} />
            <InNoProject />
            <Checklist home={data} />
            <IdleGpus home={data} />
            {data.recent_jobs.length > 0 && (
              <section>
                <Group justify="space-between" mb="xs">
                  <Title order={2} size="h4">
                    Recent jobs
                  </Title>
                  <TextLink to="/jobs" size="sm">
                    All jobs
                  </TextLink>
                </Group>
                <JobTable jobs={data.recent_jobs} label="Recent jobs" />
              </section>
            )}
            <Activity />
          </Stack>
        )}
      </Loaded>
    </>
  );
}

/** Everything belongs to a project: somebody new may be in none yet. */
function InNoProject() {
  const session = useSession();
  if (!session || session.user.is_admin || session.projects.length > 0) return null;
  return (
    <Alert color="blue" icon={<IconInfoCircle />} title="You are not in a project yet">
      Datasets, jobs and runs belong to projects. Ask an administrator of one to add you:{" "}
      <Code>mill project add-member PROJECT {session.user.name} --role member</Code>
    </Alert>
  );
}

function Numbers({ home }: { home: HomeShape }) {
  // The same numbers as on the pages of datasets and caches: of what the viewer may see.
  const { cached_bytes, volume_bytes } = useQuery(datasetTotalsQuery()).data ?? home;
  const cached = volume_bytes > 0 ? (100 * cached_bytes) / volume_bytes : 0;
  return (
    <SimpleGrid minColWidth={190} autoFlow="auto-fit">
      <Tile
        label="GPUs allocated"
        note={
          home.gpu_used_hundredths > 0 &&
          `${formatGpus(home.gpu_idle_hundredths)} idle for more than 5 minutes`
        }
        link={
          <TextLink to="/shares" size="sm">
            Shares
          </TextLink>
        }
      >
        {formatGpus(home.gpu_used_hundredths)} / {home.gpus_total}
      </Tile>
      <Tile
        label="Jobs running"
        link={
          <TextLink to="/shares" search={{ tab: "pending" }} size="sm">
            {home.jobs_waiting} pending
          </TextLink>
        }
      >
        {home.jobs_running}
      </Tile>
      <Tile
        label="Datasets"
        link={
          <TextLink to="/datasets" size="sm">
            Browse
          </TextLink>
        }
      >
        {home.datasets}
      </Tile>
      <Tile
        label="Used by cached commits"
        link={
          <TextLink to="/caches" size="sm">
            Caches
          </TextLink>
        }
      >
        {formatUsed(cached_bytes, volume_bytes)}
        <Progress value={cached} mt={6} color="cyan.7" aria-label="Volume space in use" />
      </Tile>
      {home.hit_rate != null && <Saved home={home} />}
    </SimpleGrid>
  );
}

/** What the caches were good for, once something was asked of them. */
function Saved({ home }: { home: HomeShape }) {
  return (
    <Tile
      label="Cache hit rate"
      link={
        <TextLink to="/caches" size="sm">
          {home.fills_running} filling
        </TextLink>
      }
      note={`${formatBytes(home.saved_bytes)} and ${formatSeconds(home.saved_seconds)} saved`}
    >
      {Math.round(100 * (home.hit_rate ?? 0))} %
    </Tile>
  );
}
