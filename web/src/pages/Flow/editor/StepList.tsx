/** The steps as a table: everything the graph shows, by keyboard and for screen readers. */
import { Anchor, Table } from "@mantine/core";
import type { FlowGraph } from "../../../lib/flow/graph";
import { marksOf, whatOf } from "./nodes";

interface Props {
  graph: FlowGraph;
  problems: ReadonlyMap<string, string>;
  onSelect: (step: string) => void;
}

export function StepList({ graph, problems, onSelect }: Props) {
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table aria-label="Steps">
        <Table.Thead>
          <Table.Tr>
            {["Step", "What", "Comes after", "Options", "Problem"].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
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
              <Table.Td>{whatOf(step)}</Table.Td>
              <Table.Td>
                {[
                  ...new Set(graph.edges.filter((edge) => edge.to === step.name).map((edge) => edge.from)),
                ].join(", ")}
              </Table.Td>
              <Table.Td>{marksOf(step).join(" · ")}</Table.Td>
              <Table.Td>{problems.get(step.name) ?? ""}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
