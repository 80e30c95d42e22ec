import { ScrollArea, Table } from "@mantine/core";
import { TextLink } from "../../../components/TextLink";
import { type ComparedValues, fieldValue } from "../fields";

const ROWS = 500;

/** What a figure shows, as numbers: a row for each run. */
export function FieldTable({
  compared,
  fields,
}: {
  compared: readonly ComparedValues[];
  fields: readonly string[];
}) {
  return (
    <ScrollArea.Autosize mah={480} viewportProps={{ tabIndex: 0, "aria-label": "Values by run" }}>
      <Table aria-label="Values by run" fz="xs" verticalSpacing={3} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Run</Table.Th>
            {fields.map((field) => (
              <Table.Th key={field}>{field}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {compared.slice(0, ROWS).map(({ run }) => (
            <Table.Tr key={run.id}>
              <Table.Td>
                <TextLink
                  to="/projects/$project/runs/$run"
                  params={{ project: run.project, run: run.id }}
                  size="xs"
                >
                  {run.name}
                </TextLink>
              </Table.Td>
              {fields.map((field) => (
                <Table.Td key={field}>{fieldValue(run, field) ?? "–"}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
