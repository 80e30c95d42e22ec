import { Badge, Breadcrumbs, Group, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import { projectQuery } from "../../api/projects";
import { useSession } from "../../api/session";
import type { Project } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { Totals } from "../Dataset/parts/Totals";
import { DeleteProject } from "./DeleteProject";
import { Members } from "./Members";
import { ProjectDatasets } from "./ProjectDatasets";
import { ProjectJobs } from "./ProjectJobs";
import { Secrets } from "./Secrets";
import type { ProjectTab } from "./tabs";

const route = getRouteApi("/in/projects/$project");

export function ProjectDetails() {
  const { project: name } = route.useParams();
  const result = useQuery(projectQuery(name));
  const isAdmin = useSession()?.user.is_admin ?? false;
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return (
    <>
      <PageHeader
        title={name}
        above={
          <Breadcrumbs>
            <TextLink to="/projects" size="sm">
              Projects
            </TextLink>
          </Breadcrumbs>
        }
        below={result.data && <About project={result.data} />}
        actions={isAdmin && <DeleteProject project={name} />}
      />
      <Loaded result={result}>{(project) => <Parts project={project} />}</Loaded>
    </>
  );
}

function About({ project }: { project: Project }) {
  return (
    <>
      <Group gap="sm" my={6}>
        <Badge variant="outline" color="gray" tt="none">
          Your role: {project.role}
        </Badge>
        {project.description && <Text size="sm">{project.description}</Text>}
      </Group>
      <Totals project={project.name} />
      <Group gap="md" mt={4}>
        {(["/runs", "/caches", "/sources"] as const).map((to) => (
          <TextLink key={to} to={to} search={{ project: project.name }} size="sm" tt="capitalize">
            {to.slice(1)}
          </TextLink>
        ))}
      </Group>
    </>
  );
}

function Parts({ project }: { project: Project }) {
  const { tab = "datasets" } = route.useSearch();
  const navigate = route.useNavigate();
  const mayChange = project.role === "admin";
  return (
    <Tabs
      value={tab}
      onChange={(value) => navigate({ search: { tab: value as ProjectTab }, resetScroll: false })}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        <Tabs.Tab value="datasets">Datasets</Tabs.Tab>
        <Tabs.Tab value="jobs">Jobs</Tabs.Tab>
        <Tabs.Tab value="members">Members</Tabs.Tab>
        {project.role !== "viewer" && <Tabs.Tab value="secrets">Secrets</Tabs.Tab>}
      </Tabs.List>
      <Tabs.Panel value="datasets">
        <ProjectDatasets project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="jobs">
        <ProjectJobs project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="members">
        <Members project={project.name} mayChange={mayChange} />
      </Tabs.Panel>
      {project.role !== "viewer" && (
        <Tabs.Panel value="secrets">
          <Secrets project={project.name} mayChange={mayChange} />
        </Tabs.Panel>
      )}
    </Tabs>
  );
}
