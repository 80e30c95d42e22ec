import { Grid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { whyQuery } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { Attempts } from "../../Job/parts/Attempts";
import { Events } from "../../Job/parts/Events";
import { JobFacts } from "../../Job/parts/JobFacts";
import { LedgerBar } from "../../Job/parts/LedgerBar";
import { Reach } from "../../Job/parts/Reach";
import { Reasons } from "../../Job/parts/Reasons";
import { ScoreTable } from "../../Job/parts/ScoreTable";
import { WhyWaiting } from "../../Job/parts/WhyWaiting";
import type { Recorded } from "../tabs";
import { MetricSummaries } from "./MetricSummaries";
import { NestedRuns } from "./NestedRuns";
import { Notes } from "./Notes";
import { Params } from "./Params";
import { RunSnapshots } from "./RunSnapshots";
import { Tags } from "./Tags";

/** Why it waits or failed, what it was given and what came of it, how it went. */
export function OverviewTab({ run, job }: Recorded) {
  return (
    <Stack gap="lg">
      {job && (job.state === "queued" ? <WhyWaiting job={job} /> : <Reasons job={job} />)}
      {job && <Reach job={job} />}
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack gap="lg">
            <Notes run={run} />
            <MetricSummaries run={run} />
            <NestedRuns run={run} />
            {job && <RunSnapshots job={job} />}
            {job && <LedgerBar ledger={job.ledger} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack gap="lg">
            <Params run={run} />
            <Tags run={run} />
            {job && <JobFacts job={job} />}
          </Stack>
        </Grid.Col>
      </Grid>
      {job && <JobParts job={job} />}
    </Stack>
  );
}

function JobParts({ job }: { job: Job }) {
  return (
    <>
      <Attempts job={job} />
      {job.placed_at && <PlacedBy job={job} />}
      <Events job={job} />
    </>
  );
}

/** The places it could have had when it was placed, where there was a choice. */
function PlacedBy({ job }: { job: Job }) {
  const why = useQuery(whyQuery({ project: job.project, job: job.id })).data;
  return why ? <ScoreTable places={why.places} /> : null;
}
