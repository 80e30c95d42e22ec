import { Alert, Badge, Button, CloseButton, Group, Paper, Select, Stack, Text, Title } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useChangeTrust } from "../../../api/computes";
import { projectsQuery } from "../../../api/projects";
import { useSession } from "../../../api/session";
import type { Compute } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { notifyUndo, tell } from "../../../components/notify";
import { shellQuote } from "../../../lib/names";

/** Which projects may use a compute whose jobs share one account; nothing where they are kept apart. */
export function Trust({ compute }: { compute: Compute }) {
  const isAdmin = useSession()?.user.is_admin ?? false;
  if (!compute.trust.shared) return null;
  return (
    <Paper withBorder p="md" component="section" aria-label="Who may use it">
      <Stack>
        <Title order={2} size="h4">
          Who may use it
        </Title>
        <Alert color="orange" icon={<IconUsers />} title="Shared trust">
          All jobs run under one account and can read each other's files and cached data. Only allowed
          projects run here.
        </Alert>
        <LetIn compute={compute} isAdmin={isAdmin} />
        {isAdmin && <Change compute={compute} />}
      </Stack>
    </Paper>
  );
}

function LetIn({ compute, isAdmin }: { compute: Compute; isAdmin: boolean }) {
  const trust = useChangeTrust(compute.name);
  const { all, projects } = compute.trust;
  if (all) return <Text size="sm">All projects may use it.</Text>;
  if (projects.length === 0) return <Text size="sm">No project that you can see may use it.</Text>;
  const keepOut = (project: string) =>
    tell(trust.mutateAsync({ how: "distrust", projects: [project] }), () =>
      notifyUndo(`${project} may no longer use ${compute.name}.`, () =>
        tell(trust.mutateAsync({ how: "trust", projects: [project] })),
      ),
    );
  return (
    <Group gap="xs">
      {projects.map((project) => (
        <Badge
          key={project}
          variant="light"
          size="lg"
          tt="none"
          rightSection={
            isAdmin && (
              <CloseButton size="xs" aria-label={`Remove ${project}`} onClick={() => keepOut(project)} />
            )
          }
        >
          {project}
        </Badge>
      ))}
    </Group>
  );
}

function Change({ compute }: { compute: Compute }) {
  const trust = useChangeTrust(compute.name);
  const known = useQuery(projectsQuery).data?.items.map((project) => project.name) ?? [];
  const [project, setProject] = useState<string | null>(null);
  const name = shellQuote(compute.name);
  if (compute.trust.all) {
    return (
      <Group justify="space-between">
        <Button
          variant="default"
          loading={trust.isPending}
          onClick={() => tell(trust.mutateAsync({ how: "distrust", all: true }))}
        >
          Allow named projects only
        </Button>
        <CommandLine command={`mill compute distrust ${name} --all`} />
      </Group>
    );
  }
  const letIn = () =>
    project &&
    tell(trust.mutateAsync({ how: "trust", projects: [project] }), () => {
      setProject(null);
    });
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <Select
          label="Allow a project"
          data={known.filter((one) => !compute.trust.projects.includes(one))}
          searchable
          value={project}
          onChange={setProject}
          w={240}
        />
        <Button disabled={!project} loading={trust.isPending} onClick={letIn}>
          Allow
        </Button>
        <Button
          variant="default"
          loading={trust.isPending}
          onClick={() => tell(trust.mutateAsync({ how: "trust", all: true }))}
        >
          Allow all projects
        </Button>
      </Group>
      <CommandLine command={`mill compute trust ${name} ${project ? shellQuote(project) : "PROJECT"}`} />
    </Stack>
  );
}
