import { Paper, Progress, Stack, Table, Text, Title, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { importanceQuery, type SearchPlace } from "../../../api/searches";
import { Loaded } from "../../../components/Loaded";

const HELP =
  "The share of the objective's variance that a parameter explains alone, of what all explain together.";

/** How much each parameter matters for an objective. */
export function Importance({ place, metric }: { place: SearchPlace; metric: string }) {
  const result = useQuery(importanceQuery(place, metric));
  const title = `Importance for ${metric}`;
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <Tooltip label={HELP} multiline maw={320} position="top-start">
        <Title order={2} size="h6" mb={4}>
          {title}
        </Title>
      </Tooltip>
      <Loaded result={result}>
        {({ items, trials }) =>
          items.length === 0 ? (
            <Text size="sm" c="dimmed">
              Known when four trials have succeeded; {trials} so far.
            </Text>
          ) : (
            <Stack gap={4}>
              <Table aria-label={title} verticalSpacing={5} fz="sm">
                <Table.Tbody>
                  {items.map(({ parameter, importance }) => (
                    <Table.Tr key={parameter}>
                      <Table.Th scope="row" w="35%" fw={500} style={{ overflowWrap: "anywhere" }}>
                        {parameter}
                      </Table.Th>
                      <Table.Td>
                        <Progress value={100 * importance} aria-hidden />
                      </Table.Td>
                      <Table.Td w={70} ta="right" className="unbroken">
                        {Math.round(100 * importance)} %
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
              <Text size="xs" c="dimmed">
                From {trials} trials that succeeded.
              </Text>
            </Stack>
          )
        }
      </Loaded>
    </Paper>
  );
}
