import { Group, Paper, Select, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { CommitPlace } from "../../../api/commits";
import { type LineageDirection, lineageQuery } from "../../../api/lineage";
import type { Dataset, LineageStep } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { WaitingRows } from "../../../components/Waiting";
import { shortRef } from "../../../lib/names";
import { CommitSelect } from "./CommitSelect";
import { LineageEnd, LineageMaker } from "./LineageEnds";
import { NoCommits } from "./NoCommits";
import { RefSelect } from "./RefSelect";
import { useShownRef } from "./shownRef";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

const DEPTHS = [
  { value: "1", label: "1 step" },
  { value: "3", label: "3 steps" },
  { value: "10", label: "10 steps" },
  { value: "50", label: "50 steps" },
];

/** What made a commit, and what was made from it. */
export function LineageTab({ dataset }: { dataset: Dataset }) {
  const { ref: asked } = route.useSearch();
  const { ref, isEmpty } = useShownRef(dataset, asked);
  const navigate = route.useNavigate();
  const [depth, setDepth] = useState("3");
  if (isEmpty) return <NoCommits dataset={dataset} />;
  if (!ref) return <WaitingRows />;
  const place = { project: dataset.project, dataset: dataset.name };
  const show = (chosen: string) => navigate({ search: { tab: "lineage", ref: chosen } });
  const Choice = dataset.kind === "data" ? RefSelect : CommitSelect;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <Choice place={place} value={ref} onChange={show} />
          <Select
            aria-label="Depth"
            data={DEPTHS}
            value={depth}
            onChange={(value) => setDepth(value ?? "3")}
            allowDeselect={false}
            w={110}
          />
        </Group>
        <CommandLine
          command={`mill data lineage ${dataset.project}/${dataset.name}@${shortRef(ref)} --depth ${depth}`}
        />
      </Group>
      <Direction title="Made from" place={{ ...place, ref }} direction="up" depth={Number(depth)} />
      <Direction title="Used by" place={{ ...place, ref }} direction="down" depth={Number(depth)} />
    </Stack>
  );
}

interface DirectionProps {
  title: string;
  place: CommitPlace;
  direction: LineageDirection;
  depth: number;
}

function Direction({ title, place, direction, depth }: DirectionProps) {
  const result = useQuery(lineageQuery(place, direction, depth));
  return (
    <section aria-label={title}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      <Paper withBorder>
        <Loaded result={result}>
          {({ steps, is_cut }) => (
            <>
              {steps.length === 0 ? (
                <Text p="md">Nothing uses this commit yet.</Text>
              ) : (
                <Steps title={title} steps={steps} />
              )}
              {is_cut && (
                <Text p="md" c="dimmed" size="sm">
                  Only the nearest {steps.length.toLocaleString("en")} steps are shown.
                </Text>
              )}
            </>
          )}
        </Loaded>
      </Paper>
    </section>
  );
}

function Steps({ title, steps }: { title: string; steps: LineageStep[] }) {
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table aria-label={title} verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={60}>Step</Table.Th>
            <Table.Th>Commit</Table.Th>
            <Table.Th>Made by</Table.Th>
            <Table.Th>From</Table.Th>
            <Table.Th w={80}>As</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {steps.map((step) => (
            <Table.Tr key={`${step.source?.id} ${step.made?.id} ${step.role} ${step.maker.id}`}>
              <Table.Td>{step.depth}</Table.Td>
              <Table.Td>
                <LineageEnd commit={step.made} none="nothing yet" />
              </Table.Td>
              <Table.Td>
                <LineageMaker step={step} />
              </Table.Td>
              <Table.Td>
                <LineageEnd commit={step.source} none="no commit" />
              </Table.Td>
              <Table.Td>{step.role === "origin" ? "" : step.role}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
