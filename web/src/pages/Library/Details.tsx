/** One component: what it is for, its parameters and ports, its versions, and how to use it. */
import { Breadcrumbs, Button, Group, Paper, Stack, Text } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { componentQuery, libraryQuery } from "../../api/flows";
import { isNotFound } from "../../api/problem";
import type { LibraryComponent } from "../../api/shapes";
import { CommandLine } from "../../components/Copyable";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { TextLink } from "../../components/TextLink";
import { WaitingRows } from "../../components/Waiting";
import { categoryWords } from "./categories";
import { OriginBadge } from "./parts/OriginBadge";
import { RunComponent } from "./parts/RunComponent";
import { ParamTable, PortTable } from "./parts/SchemaTables";

const Markdown = lazy(() => import("../Dataset/parts/readme/Markdown"));
const route = getRouteApi("/in/projects/$project/library/$component");

export function ComponentDetails() {
  const { project, component } = route.useParams();
  const result = useQuery(componentQuery(project, component));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(found) => <Parts project={project} component={found} />}</Loaded>;
}

function Parts({ project, component }: { project: string; component: LibraryComponent }) {
  const written = `${component.name}@${component.version}`;
  const major = `${component.name}@${component.version.split(".")[0]}`;
  return (
    <>
      <PageHeader
        title={component.title || component.name}
        above={
          <Breadcrumbs>
            <TextLink to="/library" search={{ project }} size="sm">
              Library
            </TextLink>
            <TextLink to="/library" search={{ project, category: component.category }} size="sm">
              {categoryWords(component.category)}
            </TextLink>
          </Breadcrumbs>
        }
        below={
          <Stack gap={6}>
            <Group gap="xs">
              <Text size="sm" className="mono">
                {written}
              </Text>
              <OriginBadge origin={component.origin} />
              {component.checkpoint && (
                <Text size="sm" c="dimmed">
                  resumes from its checkpoint
                </Text>
              )}
              {!component.remember && (
                <Text size="sm" c="dimmed">
                  always runs again
                </Text>
              )}
            </Group>
            <Text maw={720}>{component.description}</Text>
          </Stack>
        }
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconRoute size={16} />}
              renderRoot={(rest) => (
                <Link
                  {...rest}
                  to="/projects/$project/flows-new"
                  params={{ project }}
                  search={{ component: major }}
                />
              )}
            >
              Use in a new flow
            </Button>
            <RunComponent project={project} component={component} />
          </>
        }
      />
      <Stack gap="lg">
        <ParamTable params={component.params} />
        <PortTable title="Inputs" ports={component.inputs} />
        <PortTable title="Outputs" ports={component.outputs} />
        <Section title="In a flow" bare>
          <CommandLine command={yamlOf(component, major)} />
        </Section>
        {component.readme && (
          <Section title="Documentation">
            <Paper p="md">
              <Suspense fallback={<WaitingRows />}>
                <Markdown text={component.readme} />
              </Suspense>
            </Paper>
          </Section>
        )}
        <Versions project={project} component={component} />
      </Stack>
    </>
  );
}

/** The step as it is written in `flow.yaml`, with its required inputs and parameters. */
function yamlOf(component: LibraryComponent, major: string): string {
  const inputs = component.inputs.filter((port) => port.required);
  const params = component.params.filter((param) => param.required);
  return [
    `${component.name.replaceAll("-", "_")}:`,
    `  component: ${major}`,
    ...(inputs.length > 0
      ? [`  inputs: {${inputs.map((port) => `${port.name}: "\${steps.data}"`).join(", ")}}`]
      : []),
    ...(params.length > 0 ? [`  params: {${params.map((param) => `${param.name}: …`).join(", ")}}`] : []),
  ].join("\n");
}

function Versions({ project, component }: { project: string; component: LibraryComponent }) {
  const all = useQuery(libraryQuery(project)).data?.items ?? [];
  const versions = all.filter((one) => one.name === component.name);
  if (versions.length < 2) return null;
  return (
    <Section title="Versions">
      <Stack gap={4} p="md">
        {versions.map((one) => (
          <Group key={`${one.version} ${one.origin}`} gap="xs">
            <TextLink
              to="/projects/$project/library/$component"
              params={{ project, component: `${one.name}@${one.version}` }}
              size="sm"
            >
              {one.version}
            </TextLink>
            <OriginBadge origin={one.origin} />
            {one.version === component.version && (
              <Text size="sm" c="dimmed">
                shown here
              </Text>
            )}
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
