import { Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { projectsQuery } from "../../api/projects";
import type { Project } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { ProjectSelect } from "../../components/ProjectSelect";
import { Section } from "../../components/Section";
import { useTopic } from "../../hooks/useLive";
import { Connections } from "./parts/Connections";
import { Mirrors } from "./parts/Mirrors";
import { Sources } from "./parts/Sources";

const route = getRouteApi("/in/sources");

/** What comes into a project's datasets from outside, what is kept the same elsewhere, and through which connections. */
export function SourceList() {
  useTopic("sources");
  useTopic("mirrors");
  const { project, tab = "sources" } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useQuery(projectsQuery);
  return (
    <>
      <PageHeader
        title="Sources and mirrors"
        below={
          <Text c="dimmed">
            Sources import from buckets and web servers into datasets. Mirrors keep buckets and other sites
            the same as datasets and workspaces.
          </Text>
        }
        actions={
          <ProjectSelect
            value={project}
            onChange={(chosen) => navigate({ search: { tab, project: chosen } })}
          />
        }
      />
      <Loaded result={result}>
        {({ items }) => {
          const shown = items.filter((one) => !project || one.name === project);
          return (
            <Tabs
              value={tab}
              onChange={(value) => navigate({ search: { project, tab: value as typeof tab } })}
              keepMounted={false}
            >
              <Tabs.List mb="md">
                <Tabs.Tab value="sources">In and out</Tabs.Tab>
                <Tabs.Tab value="connections">Connections</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="sources">
                <Each projects={shown}>
                  {(one) => (
                    <Stack gap="lg">
                      <Section title="In: sources" bare>
                        <Sources project={one} brief={shown.length > 1} />
                      </Section>
                      <Section title="Out: mirrors" bare>
                        <Mirrors project={one} brief={shown.length > 1} />
                      </Section>
                    </Stack>
                  )}
                </Each>
              </Tabs.Panel>
              <Tabs.Panel value="connections">
                <Each projects={shown}>
                  {(one) => <Connections project={one} brief={shown.length > 1} />}
                </Each>
              </Tabs.Panel>
            </Tabs>
          );
        }}
      </Loaded>
    </>
  );
}

/** Connections and sources belong to projects: somebody with several sees one part for each. */
function Each({ projects, children }: { projects: Project[]; children: (one: Project) => React.ReactNode }) {
  return (
    <Stack gap="xl">
      {projects.map((project) => (
        <section key={project.id} aria-label={project.name}>
          {projects.length > 1 && (
            <Text component="h2" fw={600} mb="xs">
              {project.name}
            </Text>
          )}
          {children(project)}
        </section>
      ))}
    </Stack>
  );
}
