import { Group, Paper, Progress, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { RunningFill } from "../../../api/shapes";
import { cachesSummaryQuery } from "../../../api/usage";
import { TextLink } from "../../../components/TextLink";
import { shortId } from "../../../lib/names";
import { plural } from "../../../lib/quantity";
import { progressWords, shareOf } from "./progress";

/** What is on its way now, everywhere or to one volume. Not shown while nothing is. */
export function RunningFills({ volume }: { volume?: string }) {
  const fills = useQuery(cachesSummaryQuery).data?.fills ?? [];
  const shown = fills.filter((fill) => volume === undefined || fill.volume === volume);
  if (shown.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        On their way
      </Title>
      <Paper withBorder p="md">
        <Stack component="ul" gap="md" m={0} p={0} style={{ listStyle: "none" }}>
          {shown.map((fill) => (
            <FillLine key={fill.id} fill={fill} />
          ))}
        </Stack>
      </Paper>
    </section>
  );
}

function FillLine({ fill }: { fill: RunningFill }) {
  const source = fill.source === "lake" ? "the lake" : fill.source;
  return (
    <li data-testid="running-fill">
      <Group justify="space-between" gap="xs">
        <Text size="sm" component="div">
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={{ project: fill.project, dataset: fill.dataset }}
            fw={600}
            size="sm"
          >
            {fill.dataset}
          </TextLink>{" "}
          <span className="mono">@{shortId(fill.commit_id)}</span> from {source} to {fill.volume}
        </Text>
        <Text size="sm" c="dimmed">
          {wordsOf(fill)}
        </Text>
      </Group>
      <Progress
        value={shareOf(fill)}
        mt={6}
        color={fill.problem ? "orange.7" : "cyan.7"}
        animated={!fill.waiting && !fill.problem}
        aria-label={`Share of ${fill.dataset} that arrived on ${fill.volume}`}
      />
      {fill.problem && (
        <Text size="sm" c="red.9" mt={4}>
          {fill.problem}
        </Text>
      )}
    </li>
  );
}

function wordsOf(fill: RunningFill): string {
  if (fill.waiting) return "waits for room or for its agent";
  return `${progressWords(fill)} · ${fill.done_files.toLocaleString("en")} of ${plural(fill.files, "file")}`;
}
