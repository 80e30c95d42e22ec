/** The AI library: components that flows are made of, by what they do. */
import { Badge, Card, Chip, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconPackages } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { libraryQuery } from "../../api/flows";
import { projectsQuery } from "../../api/projects";
import type { LibraryComponent } from "../../api/shapes";
import { EmptyState } from "../../components/EmptyState";
import { Filter } from "../../components/Filter";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { TextLink } from "../../components/TextLink";
import { plural } from "../../lib/quantity";
import { byCategory } from "../Flow/editor/paletteItems";
import { categoryWords } from "./categories";
import { OriginBadge } from "./parts/OriginBadge";

const route = getRouteApi("/in/library");

export function LibraryList() {
  const { project: chosen } = route.useSearch();
  const projects = useQuery(projectsQuery).data?.items;
  const project = chosen ?? projects?.[0]?.name;
  return (
    <>
      <PageHeader
        title="Library"
        below={
          <Text c="dimmed">Components that flows are made of. Use them as they are, or add your own.</Text>
        }
      />
      {project && <Components project={project} />}
    </>
  );
}

function Components({ project }: { project: string }) {
  const { search = "", category } = route.useSearch();
  const navigate = useNavigate();
  const result = useQuery(libraryQuery(project));
  const choose = (given: { search?: string; category?: string }) =>
    void navigate({
      to: "/library",
      search: (before) => ({ ...before, ...given }),
      replace: true,
    });
  return (
    <Loaded result={result}>
      {({ items }) => {
        const all = byCategory(items);
        const shown = byCategory(items.filter((one) => matches(one, search))).filter(
          ([name]) => !category || name === category,
        );
        return (
          <Stack>
            <Group gap="sm">
              <Filter
                label="Search components"
                value={search}
                onChange={(text) => choose({ search: text || undefined })}
              />
              <Chip.Group
                value={category ?? ""}
                onChange={(name) => choose({ category: String(name) || undefined })}
              >
                <Group gap={6}>
                  <Chip size="xs" value="">
                    All
                  </Chip>
                  {all.map(([name, found]) => (
                    <Chip key={name} size="xs" value={name}>
                      {categoryWords(name)} {found.length}
                    </Chip>
                  ))}
                </Group>
              </Chip.Group>
            </Group>
            {shown.length === 0 && (
              <EmptyState
                docs="library/"
                icon={IconPackages}
                sentence={
                  items.length === 0 ? "The library of this server is empty." : "No component matches."
                }
                command={items.length === 0 ? "mill library add FOLDER" : undefined}
              />
            )}
            {shown.map(([name, found]) => (
              <section key={name} aria-label={categoryWords(name)}>
                <Title order={2} size="h5" mb="xs">
                  {categoryWords(name)}
                </Title>
                <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm">
                  {found.map((one) => (
                    <ComponentCard
                      key={one.name}
                      project={project}
                      component={one}
                      versions={items.filter((other) => other.name === one.name).length}
                    />
                  ))}
                </SimpleGrid>
              </section>
            ))}
          </Stack>
        );
      }}
    </Loaded>
  );
}

function matches(component: LibraryComponent, words: string): boolean {
  const { name, title, description, category } = component;
  const text = `${name} ${title} ${description} ${categoryWords(category)}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface CardProps {
  project: string;
  component: LibraryComponent;
  versions: number;
}

function ComponentCard({ project, component, versions }: CardProps) {
  return (
    <Card withBorder padding="sm" component="article">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <TextLink
          to="/projects/$project/library/$component"
          params={{ project, component: component.name }}
          fw={600}
        >
          {component.title || component.name}
        </TextLink>
        <OriginBadge origin={component.origin} />
      </Group>
      <Text size="xs" c="dimmed" className="mono">
        {component.name}@{component.version}
        {versions > 1 && ` · ${plural(versions, "version")}`}
      </Text>
      <Text size="sm" mt={6} mb="xs">
        {component.description}
      </Text>
      <Group gap={6} mt="auto">
        {component.inputs.length > 0 && <Ports words="in" names={component.inputs.map((one) => one.type)} />}
        {component.outputs.length > 0 && (
          <Ports words="out" names={component.outputs.map((one) => one.type)} />
        )}
      </Group>
    </Card>
  );
}

function Ports({ words, names }: { words: string; names: readonly string[] }) {
  return (
    <Badge variant="default" tt="none" fw={400} size="sm">
      {words}: {[...new Set(names)].join(", ")}
    </Badge>
  );
}
