import { Badge, Breadcrumbs, Group, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { isNotFound } from "../../api/problem";
import { projectQuery } from "../../api/projects";
import { useSession } from "../../api/session";
import type { Project } from "../../api/shapes";
import { Channels } from "../../components/channels/Channels";
import { Loaded } from "../../components/Loaded";
import { MlperfTables } from "../../components/mlperf/MlperfTables";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { plural } from "../../lib/quantity";
import { Totals } from "../Dataset/parts/Totals";
import { DeleteProject } from "./parts/DeleteProject";
import { EditProject } from "./parts/EditProject";
import { Members } from "./parts/Members";
import { ProjectDatasets } from "./parts/ProjectDatasets";
import { ProjectJobs } from "./parts/ProjectJobs";
import { ProjectUsage } from "./parts/ProjectUsage";
import { Secrets } from "./parts/Secrets";
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
        actions={
          <>
            {result.data && <EditProject project={result.data} />}
            {isAdmin && <DeleteProject project={name} />}
          </>
        }
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
      <Text c="dimmed">{gpuLine(project)}</Text>
      <Group gap="md" mt={4}>
        {(["/runs", "/caches", "/sources"] as const).map((to) => (
          <TextLink key={to} to={to} search={{ project: project.name }} size="sm" tt="capitalize">
            {to.slice(1)}
          </TextLink>
        ))}
        {project.role === "admin" && (
          <TextLink to="/audit" search={{ project: project.name }} size="sm">
            Audit
          </TextLink>
        )}
      </Group>
    </>
  );
}

/** `8 GPUs allocated · share 8 · quota 4 · limit 12 · 2 pending in 1 job` */
export function gpuLine({ allocated, share, quota, limit, pending_gpus, pending_jobs }: Project): string {
  return [
    `${plural(allocated ?? 0, "GPU")} allocated`,
    `share ${share}`,
    `quota ${quota}`,
    ...(limit == null ? [] : [`limit ${limit}`]),
    ...(pending_jobs ? [`${pending_gpus} pending in ${plural(pending_jobs, "job")}`] : []),
  ].join(" · ");
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
        <Tabs.Tab value="performance">Performance</Tabs.Tab>
        <Tabs.Tab value="usage">Usage</Tabs.Tab>
        <Tabs.Tab value="members">Members</Tabs.Tab>
        {project.role !== "viewer" && <Tabs.Tab value="secrets">Secrets</Tabs.Tab>}
        <Tabs.Tab value="notifications">Notifications</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="datasets">
        <ProjectDatasets project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="jobs">
        <ProjectJobs project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="performance">
        <MlperfTables project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="usage">
        <ProjectUsage project={project.name} />
      </Tabs.Panel>
      <Tabs.Panel value="members">
        <Members project={project.name} mayChange={mayChange} />
      </Tabs.Panel>
      {project.role !== "viewer" && (
        <Tabs.Panel value="secrets">
          <Secrets project={project.name} mayChange={mayChange} />
        </Tabs.Panel>
      )}
      <Tabs.Panel value="notifications">
        <Channels project={project.name} mayChange={mayChange} />
      </Tabs.Panel>
    </Tabs>
  );
}
