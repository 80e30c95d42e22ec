import { Paper, Table, Title } from "@mantine/core";

/** Names and values as they were reported. */
export function Values({ title, values }: { title: string; values: Record<string, unknown> }) {
  const names = Object.keys(values).sort();
  if (names.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <Paper withBorder>
        <Table aria-label={title} verticalSpacing={4}>
          <Table.Tbody>
            {names.map((name) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" w="30%">
                  {name}
                </Table.Th>
                <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
                  {written(values[name])}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
    </section>
  );
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
