import { Alert, List, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { allTrialsQuery } from "../../../api/searches";
import type { Search } from "../../../api/shapes";
import { CommandLine, CopyIcon } from "../../../components/Copyable";
import { type Fact, Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { shellLine } from "../../../lib/names";
import { formatSeconds } from "../../../lib/quantity";
import { BestCurve } from "./BestCurve";
import { BestTrials } from "./BestTrials";
import { Importance } from "./Importance";
import { Space } from "./Space";
import { TrialCounts } from "./TrialCounts";

const COLORS = { running: "blue", paused: "orange", completed: "green", failed: "red", cancelled: "gray" };

/** What it does and why, what it found so far, what it was asked. */
export function SearchOverview({ search }: { search: Search }) {
  const place = { project: search.project, search: search.id };
  const trials = useQuery(allTrialsQuery(place, !search.ended_at));
  return (
    <Stack gap="xl">
      <Reasons search={search} />
      {search.objectives.length > 0 && <BestTrials search={search} />}
      {search.objectives.map((objective, index) => (
        <SimpleGrid key={objective.metric} cols={{ base: 1, md: 2 }}>
          <Loaded result={trials}>
            {(found) => <BestCurve search={search} trials={found} place={index} />}
          </Loaded>
          <Importance place={place} metric={objective.metric} />
        </SimpleGrid>
      ))}
      <Section title="Specification" bare>
        <Paper withBorder p="md">
          <Stack gap="sm">
            <CommandLine command={shellLine(search.job.command)} />
            <Facts facts={factsOf(search)} />
            <Space parameters={search.parameters} />
          </Stack>
        </Paper>
      </Section>
      <CommandLine command={`mill search show ${search.id}`} />
    </Stack>
  );
}

function Reasons({ search }: { search: Search }) {
  const [first, ...rest] = search.reasons;
  return (
    <Alert variant="light" color={COLORS[search.state]} title={first ?? search.state} aria-live="polite">
      {rest.length > 0 && (
        <List size="sm" listStyleType="none">
          {rest.map((reason) => (
            <List.Item key={reason}>{reason}</List.Item>
          ))}
        </List>
      )}
    </Alert>
  );
}

function factsOf(search: Search): Fact[] {
  const { objectives, pruning } = search;
  return [
    { name: "Trials", value: <TrialCounts search={search} /> },
    { name: "Method", value: search.method },
    {
      name: objectives.length > 1 ? "Objectives" : "Objective",
      value:
        objectives.length === 0
          ? "none"
          : objectives.map(({ metric, direction, reading, target }) => (
              <div key={metric}>
                {direction} {metric}
                {reading === "best" && ", the best value of each trial"}
                {target != null && `, until ${target}`}
              </div>
            )),
    },
    {
      name: "Pruning",
      value: pruning ? `ASHA from step ${pruning.min_step}, factor ${pruning.factor}` : "none",
    },
    { name: "In parallel", value: search.parallel },
    { name: "Failed trials allowed", value: search.max_failed ?? "all but the first five" },
    ...(search.max_seconds ? [{ name: "Time limit", value: formatSeconds(search.max_seconds) }] : []),
    { name: "Seed", value: search.seed },
    {
      name: "Runs",
      value: (
        <TextLink
          to="/runs"
          search={{ project: search.project, filter: `tags.search_id = '${search.id}'` }}
          size="sm"
        >
          Show as runs
        </TextLink>
      ),
    },
    {
      name: "Search id",
      value: (
        <Text span size="sm">
          <span className="mono">{search.id}</span>
          <CopyIcon value={search.id} label="Copy the search id" />
        </Text>
      ),
    },
  ];
}
