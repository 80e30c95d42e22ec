import { Badge, Group, Paper, SimpleGrid, Text } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import type { Dataset } from "../../../api/shapes";
import { People } from "../../../components/People";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatBytes, plural } from "../../../lib/quantity";

export function DatasetCards({ datasets }: { datasets: Dataset[] }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} component="ul" m={0} p={0} style={{ listStyle: "none" }}>
      {datasets.map((dataset) => (
        <DatasetCard key={dataset.id} dataset={dataset} />
      ))}
    </SimpleGrid>
  );
}

function DatasetCard({ dataset }: { dataset: Dataset }) {
  return (
    <Paper withBorder p="md" component="li" data-testid="dataset-card">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div style={{ minWidth: 0 }}>
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={{ project: dataset.project, dataset: dataset.name }}
            fw={650}
            size="lg"
            style={{ overflowWrap: "anywhere" }}
          >
            {dataset.name}
          </TextLink>
          <Text size="xs" c="dimmed">
            {dataset.project}
          </Text>
        </div>
        <People names={dataset.members} />
      </Group>
      <Badge
        variant="light"
        tt="none"
        color={dataset.cached_commits > 0 ? "cyan" : "gray"}
        leftSection={<IconRipple size={13} aria-hidden />}
        mt="md"
        mb="xs"
      >
        {plural(dataset.cached_commits, "Cached Commit")}
      </Badge>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {dataset.kind === "data" && `${formatBytes(dataset.bytes)} · `}
          {plural(dataset.commits, "commit")}
        </Text>
        <Text size="sm" c="dimmed" component="div">
          <Time at={dataset.active_at} prefix="Active " />
        </Text>
      </Group>
    </Paper>
  );
}
