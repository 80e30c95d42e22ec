import { Accordion, Badge, Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFolders, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../../api/projects";
import { useSession } from "../../api/session";
import type { Project } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { DeleteProject } from "./DeleteProject";
import { Members } from "./Members";
import { NewProject } from "./NewProject";
import { Secrets } from "./Secrets";

export function ProjectList() {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const result = useQuery(projectsQuery);
  const [creating, dialog] = useDisclosure(false);
  const create = isAdmin && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New project
    </Button>
  );
  return (
    <>
      <PageHeader title="Projects" actions={create} />
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconFolders}
              sentence="You have no role in any project: ask a site administrator for one."
              action={create}
            />
          ) : (
            <Accordion variant="contained" multiple chevronPosition="left">
              {items.map((project) => (
                <ProjectItem key={project.id} project={project} isAdmin={isAdmin} />
              ))}
            </Accordion>
          )
        }
      </Loaded>
      {creating && <NewProject onClose={dialog.close} />}
    </>
  );
}

function ProjectItem({ project, isAdmin }: { project: Project; isAdmin: boolean }) {
  return (
    <Accordion.Item value={project.name}>
      <Accordion.Control>
        <Group gap="sm">
          <Text fw={600}>{project.name}</Text>
          <Badge variant="outline" color="gray" tt="none">
            {project.role}
          </Badge>
          <Text size="sm" c="dimmed">
            {project.description}
          </Text>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Members project={project.name} mayChange={project.role === "admin"} />
        {project.role !== "viewer" && <Secrets project={project.name} mayChange={project.role === "admin"} />}
        {isAdmin && <DeleteProject project={project.name} />}
      </Accordion.Panel>
    </Accordion.Item>
  );
}
