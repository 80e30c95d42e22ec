import { Breadcrumbs, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { runQuery } from "../../../api/runs";
import type { Job } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { PageHeader } from "../../../components/PageHeader";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import type { Recorded } from "../tabs";
import { RunActions } from "./RunActions";

/** What it is called, whose it is, how it stands, and what can be done with it. */
export function RunHeader({ run, job }: Recorded) {
  return (
    <PageHeader
      title={titleOf({ run, job })}
      above={<Above run={run} job={job} />}
      below={<By run={run} job={job} />}
      actions={<RunActions run={run} job={job} />}
    />
  );
}

/** A run that was given a name of its own is called by it, any other as its job. */
function titleOf({ run, job }: Recorded): string {
  return job && run.name === job.name ? job.written : run.name;
}

function Above({ run, job }: Recorded) {
  const { project, experiment } = run;
  return (
    <Breadcrumbs mb={4} fz="sm">
      <TextLink to={job ? "/jobs" : "/runs"} size="sm">
        {job ? "Jobs" : "Runs"}
      </TextLink>
      <TextLink to="/projects/$project" params={{ project }} search={{ tab: "jobs" }} size="sm">
        {project}
      </TextLink>
      <TextLink
        to="/runs"
        search={{ project, experiment }}
        size="sm"
        title={experiment}
        className="trail-part"
      >
        {experiment}
      </TextLink>
      {run.parent && <Parent project={project} run={run.parent} />}
    </Breadcrumbs>
  );
}

function Parent({ project, run }: { project: string; run: string }) {
  const { data } = useQuery(runQuery({ project, run }));
  if (!data) return null;
  return (
    <TextLink to="/projects/$project/runs/$run" params={{ project, run }} size="sm" className="trail-part">
      part of {data.name}
    </TextLink>
  );
}

function By({ run, job }: Recorded) {
  return (
    <Group gap="xs" mt={4}>
      <div role="status" aria-live="polite">
        <Status state={job?.state ?? run.state} size="lg" />
        {job && <Progressing job={job} />}
      </div>
      <Text>by {run.created_by}</Text>
      <Text c="dimmed" component="div">
        <Duration start={job?.queued_at ?? run.started_at} end={job ? job.ended_at : run.ended_at} />
      </Text>
      {(job?.deleted_at ?? run.deleted_at) && <Text c="dimmed">in bin</Text>}
    </Group>
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
