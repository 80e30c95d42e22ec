import { Badge, Button, Paper, Table } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFolders, IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../../api/projects";
import { useSession } from "../../api/session";
import type { Project } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { NewProject } from "./NewProject";

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
            <ProjectTable projects={items} />
          )
        }
      </Loaded>
      {creating && <NewProject onClose={dialog.close} />}
    </>
  );
}

function ProjectTable({ projects }: { projects: Project[] }) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={500}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Projects" } }}
      >
        <Table aria-label="Projects">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Project</Table.Th>
              <Table.Th>Your role</Table.Th>
              <Table.Th>Description</Table.Th>
              <Table.Th>Created</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {projects.map((project) => (
              <ProjectRow key={project.id} project={project} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function ProjectRow({ project }: { project: Project }) {
  return (
    <Table.Tr>
      <Table.Td>
        <TextLink
          to="/projects/$project"
          params={{ project: project.name }}
          size="sm"
          fw={600}
          className="row-name"
        >
          {project.name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <Badge variant="outline" color="gray" tt="none">
          {project.role}
        </Badge>
      </Table.Td>
      <Table.Td>{project.description}</Table.Td>
      <Table.Td>
        <Time at={project.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}
