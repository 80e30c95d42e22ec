/** The steps as a table: everything the graph shows, by keyboard and for screen readers. */
import { ActionIcon, Anchor, Table, Text } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMemo } from "react";
import type { FlowGraph } from "../../../lib/flow/graph";
import { marksOf, whatOf } from "./nodes";

interface Props {
  graph: FlowGraph;
  problems: ReadonlyMap<string, string>;
  onSelect: (step: string) => void;
  onRemove?: (step: string) => void;
}

export function StepList({ graph, problems, onSelect, onRemove }: Props) {
  const before = useMemo(() => {
    const found = new Map<string, Set<string>>();
    for (const { from, to } of graph.edges) found.set(to, (found.get(to) ?? new Set()).add(from));
    return found;
  }, [graph]);
  if (graph.steps.length === 0) return <Text p="md">No steps yet. Add one from the palette.</Text>;
  return (
    <Table.ScrollContainer
      minWidth={560}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Steps" } }}
    >
      <Table aria-label="Steps">
        <Table.Thead>
          <Table.Tr>
            {["Step", "What", "Comes after", "Options", "Problem"].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
            {onRemove && <Table.Th aria-label="Actions" />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {graph.steps.map((step) => (
            <Table.Tr key={step.name}>
              <Table.Td>
                <Anchor component="button" type="button" size="sm" onClick={() => onSelect(step.name)}>
                  {step.name}
                </Anchor>
              </Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{whatOf(step)}</Table.Td>
              <Table.Td>{[...(before.get(step.name) ?? [])].join(", ")}</Table.Td>
              <Table.Td>{marksOf(step).join(" · ")}</Table.Td>
              <Table.Td>{problems.get(step.name) ?? ""}</Table.Td>
              {onRemove && (
                <Table.Td>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`Remove ${step.name}`}
                    onClick={() => onRemove(step.name)}
                  >
                    <IconTrash size={16} />
                  </ActionIcon>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
