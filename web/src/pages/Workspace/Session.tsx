/** A session on its way: queue, preparing, ready; then JupyterLab or code-server in this tab, or the shell itself. */
import { Alert, Breadcrumbs, Button, Group, Loader, Paper, Stack, Stepper, Text } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { isNotFound } from "../../api/problem";
import type { WorkspaceSession } from "../../api/shapes";
import { hasEnded, type SessionPlace, sessionQuery, sessionUrlQuery } from "../../api/workspaceSessions";
import { CommandLine } from "../../components/Copyable";
import { ErrorNotice } from "../../components/ErrorNotice";
import { JobLink } from "../../components/JobLink";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";

const Terminal = lazy(() => import("../Job/parts/Terminal"));
const route = getRouteApi("/in/projects/$project/workspaces/$workspace/sessions/$job");

export function WorkspaceSessionPage() {
  const place = route.useParams();
  const result = useQuery(sessionQuery(place));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(session) => <Parts place={place} session={session} />}</Loaded>;
}

interface Props {
  place: SessionPlace;
  session: WorkspaceSession;
}

function Parts({ place, session }: Props) {
  const isRunning = session.state === "running";
  return (
    <Stack>
      <PageHeader
        title={`${session.title} in ${place.workspace}`}
        above={
          <Breadcrumbs mb={4} fz="sm">
            <TextLink to="/workspaces" search={{ project: place.project }} size="sm">
              Workspaces
            </TextLink>
            <TextLink to="/projects/$project/workspaces/$workspace" params={{ ...place }} size="sm">
              {place.workspace}
            </TextLink>
          </Breadcrumbs>
        }
        below={
          <Text size="sm" c="dimmed" component="div">
            Job{" "}
            <JobLink project={place.project} job={session.job}>
              {session.name}
            </JobLink>
            {session.compute && ` on ${session.compute}`}
          </Text>
        }
      />
      {hasEnded(session) ? (
        <Ended place={place} session={session} />
      ) : session.kind === "shell" && isRunning ? (
        <Suspense fallback={<Loader size="sm" />}>
          <Terminal job={{ project: place.project, id: session.job }} rank={0} />
        </Suspense>
      ) : (
        <OnItsWay place={place} session={session} />
      )}
    </Stack>
  );
}

function OnItsWay({ place, session }: Props) {
  const isRunning = session.state === "running";
  const step = isRunning ? 2 : session.state === "preparing" ? 1 : 0;
  return (
    <Paper withBorder p="md">
      <Stack>
        <Stepper active={step} size="sm" aria-label={`${session.title} is ${session.state}`}>
          <Stepper.Step label="In the queue" loading={step === 0} />
          <Stepper.Step label="Preparing" loading={step === 1} />
          <Stepper.Step label={`Starting ${session.title}`} loading={step === 2} />
        </Stepper>
        <Text size="sm" role="status">
          {isRunning ? `${session.title} opens in this tab as soon as it listens.` : session.reason}
        </Text>
        {session.environment_job && !isRunning && (
          <Text size="sm" c="dimmed" component="div">
            Its packages are installed by job{" "}
            <JobLink project={place.project} job={session.environment_job}>
              {session.environment_job}
            </JobLink>
            .
          </Text>
        )}
        {isRunning && session.port !== null && <Entering place={place} session={session} />}
      </Stack>
    </Paper>
  );
}

/** Leads this tab to it; where the server has no addresses for ports of jobs, tells how to reach it. */
function Entering({ place, session }: Props) {
  const found = useQuery(sessionUrlQuery(place));
  const url = found.data?.url;
  useEffect(() => {
    // Going back from it does not come here again, where an address is used up.
    if (url) window.location.replace(url);
  }, [url]);
  if (found.error)
    return (
      <Stack gap="xs">
        <ErrorNotice error={found.error} />
        <CommandLine command={`mill workspace open ${place.workspace} --${session.kind}`} />
      </Stack>
    );
  return url ? (
    <Group>
      <Button component="a" href={url} leftSection={<IconExternalLink size={16} aria-hidden />}>
        Go to {session.title}
      </Button>
    </Group>
  ) : null;
}

function Ended({ place, session }: Props) {
  return (
    <Stack>
      <Alert
        color={session.state === "failed" ? "red" : "gray"}
        title={`${session.title} ${session.state === "failed" ? "failed" : "has ended"}`}
      >
        {session.said || session.reason || "What is in the workspace stays."}
      </Alert>
      <Group>
        <TextLink to="/projects/$project/workspaces/$workspace" params={{ ...place }} size="sm">
          Back to the workspace, to open it again
        </TextLink>
        <TextLink
          to="/projects/$project/jobs/$job"
          params={{ project: place.project, job: session.job }}
          size="sm"
        >
          Log of the job
        </TextLink>
      </Group>
    </Stack>
  );
}
