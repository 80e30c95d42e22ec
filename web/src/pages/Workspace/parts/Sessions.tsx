import { Box, Button, Group, Paper, Stack, Text } from "@mantine/core";
import { IconExternalLink, IconPlayerStop } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useStopJob } from "../../../api/jobs";
import { useMay } from "../../../api/session";
import type { Workspace, WorkspaceSession } from "../../../api/shapes";
import { sessionsQuery } from "../../../api/workspaceSessions";
import { refreshWorkspaces } from "../../../api/workspaces";
import { JobLink } from "../../../components/JobLink";
import { notifyDone, notifyError } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { Time } from "../../../components/Time";
import { showSession } from "./showSession";

/** The sessions that have not ended; nothing where there are none. */
export function Sessions({ workspace }: { workspace: Workspace }) {
  const may = useMay(workspace.project, "member") && workspace.usable;
  const place = { project: workspace.project, workspace: workspace.name };
  const found = useQuery({ ...sessionsQuery(place), enabled: may }).data?.items ?? [];
  if (found.length === 0) return null;
  return (
    <Box mb="md">
      <Section title="Open sessions" bare>
        <Paper withBorder p="xs">
          <Stack gap="xs">
            {found.map((session) => (
              <Row key={session.job} workspace={workspace} session={session} />
            ))}
          </Stack>
        </Paper>
      </Section>
    </Box>
  );
}

function Row({ workspace, session }: { workspace: Workspace; session: WorkspaceSession }) {
  const router = useRouter();
  const stop = useStopJob();
  const { project } = workspace;
  const place = { project, workspace: workspace.name, job: session.job };
  return (
    <Group justify="space-between" gap="xs">
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {session.title}
        </Text>
        <Status state={session.state} size="sm" />
        <Text size="sm" c="dimmed" component="div">
          {session.created_by}, <Time at={session.created_at} />
          {session.compute && ` on ${session.compute}`}, job{" "}
          <JobLink project={project} job={session.job}>
            {session.name}
          </JobLink>
        </Text>
      </Group>
      <Group gap="xs">
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconExternalLink size={14} aria-hidden />}
          aria-label={`Open ${session.title}, job ${session.name}`}
          onClick={() => showSession(router, place, window.open("about:blank", "_blank"))}
        >
          Open
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerStop size={14} aria-hidden />}
          aria-label={`Stop ${session.title}, job ${session.name}`}
          loading={stop.isPending}
          onClick={() =>
            stop.mutate(
              { project, job: session.job },
              {
                onSuccess: () => {
                  void refreshWorkspaces();
                  notifyDone(`${session.title} stops. What is in the workspace stays.`);
                },
                onError: notifyError,
              },
            )
          }
        >
          Stop
        </Button>
      </Group>
    </Group>
  );
}
